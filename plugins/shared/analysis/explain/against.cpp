// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/explain/against.h"

#include <algorithm>

#include "plugins/shared/analysis/experiments/ranges.h"

namespace atalaya::explain {
namespace {

constexpr int64_t kDay = 86'400'000'000'000;

void set_other_host(Request &request, const std::string &host) {
  const auto has_host = [](const store::TagFilter &filter) { return filter.key == "host"; };
  if (host.empty() || std::none_of(request.window.tags.begin(), request.window.tags.end(), has_host))
    throw query::Wrong("--against host=NAME compares two hosts: write --tag host=A --against host=B");
  request.baseline.range = request.window.range;
  std::erase_if(request.baseline.tags, has_host);
  request.baseline.tags.push_back({"host", {host}});
  request.by_host = false;
}

// The negated pattern of the host selects all other hosts.
void set_all_others(Request &request) {
  const auto has_host = [](const store::TagFilter &filter) { return filter.key == "host"; };
  const auto &tags = request.window.tags;
  const auto host = std::find_if(tags.begin(), tags.end(), has_host);
  if (std::count_if(tags.begin(), tags.end(), has_host) != 1 || host->patterns.size() != 1 || host->patterns[0].starts_with('!'))
    throw query::Wrong("--against hosts compares one host with all others: write --tag host=NAME --against hosts");
  if (request.by == "pid" || request.by == "container" || request.by == "cgroup")
    throw query::Wrong("--against hosts cannot compare by " + request.by +
                       ", which differs on each host: use --by process, unit or user");
  const std::string pattern = "!" + host->patterns[0];
  request.baseline.range = request.window.range;
  std::erase_if(request.baseline.tags, has_host);
  request.baseline.tags.push_back({"host", {pattern}});
  request.by_host = false;
  request.others = true;
}

}  // namespace

void set_baseline(Request &request, const std::string &against, store::Store &store, int64_t now_ns) {
  const Range &window = request.window.range;
  request.baseline = request.window;
  if (against == "before") {
    request.baseline.range = {window.from_ns - (window.to_ns - window.from_ns), window.from_ns};
  } else if (against == "yesterday") {
    request.baseline.range = {window.from_ns - kDay, window.to_ns - kDay};
  } else if (against == "hosts") {
    set_all_others(request);
  } else if (against.starts_with("host=")) {
    set_other_host(request, against.substr(5));
  } else {
    request.baseline.range = experiments::range_of("--against", against, store, now_ns);
  }
}

}  // namespace atalaya::explain
