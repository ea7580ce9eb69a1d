// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/explain/against.h"

#include <algorithm>

#include "plugins/shared/analysis/experiments/ranges.h"

namespace atalaya::explain {
namespace {

constexpr int64_t kDay = 86'400'000'000'000;

void set_other_host(Wish &wish, const std::string &host) {
  const auto has_host = [](const store::TagFilter &filter) { return filter.key == "host"; };
  if (host.empty() || std::none_of(wish.window.tags.begin(), wish.window.tags.end(), has_host))
    throw query::Wrong("--against host=NAME compares two hosts: write --tag host=A --against host=B");
  wish.baseline.range = wish.window.range;
  std::erase_if(wish.baseline.tags, has_host);
  wish.baseline.tags.push_back({"host", {host}});
  wish.by_host = false;
}

// The same pattern, negated, has all other hosts.
void set_all_others(Wish &wish) {
  const auto has_host = [](const store::TagFilter &filter) { return filter.key == "host"; };
  const auto &tags = wish.window.tags;
  const auto host = std::find_if(tags.begin(), tags.end(), has_host);
  if (std::count_if(tags.begin(), tags.end(), has_host) != 1 || host->patterns.size() != 1 || host->patterns[0].starts_with('!'))
    throw query::Wrong("--against hosts compares one host with all others: write --tag host=NAME --against hosts");
  if (wish.by == "pid" || wish.by == "container" || wish.by == "cgroup")
    throw query::Wrong("--against hosts cannot compare by " + wish.by +
                       ", which differs on each host: use --by process, unit or user");
  const std::string pattern = "!" + host->patterns[0];
  wish.baseline.range = wish.window.range;
  std::erase_if(wish.baseline.tags, has_host);
  wish.baseline.tags.push_back({"host", {pattern}});
  wish.by_host = false;
  wish.others = true;
}

}  // namespace

void set_baseline(Wish &wish, const std::string &against, store::Store &store, int64_t now_ns) {
  const Range &window = wish.window.range;
  wish.baseline = wish.window;
  if (against == "before") {
    wish.baseline.range = {window.from_ns - (window.to_ns - window.from_ns), window.from_ns};
  } else if (against == "yesterday") {
    wish.baseline.range = {window.from_ns - kDay, window.to_ns - kDay};
  } else if (against == "hosts") {
    set_all_others(wish);
  } else if (against.starts_with("host=")) {
    set_other_host(wish, against.substr(5));
  } else {
    wish.baseline.range = query::range_of("--against", against, store, now_ns);
  }
}

}  // namespace atalaya::explain
