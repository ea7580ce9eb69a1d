// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/flamegraph/stored.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "plugins/query/time_text.h"

namespace atalaya::flamegraph {
namespace {

// What a stack counts: waits in time, the rest in samples.
double value_of(const store::Stack &stack, std::string_view field) {
  for (const store::Field &one : stack.fields)
    if (one.name == field) return one.is_count ? static_cast<double>(one.count) : one.value;
  return 0;
}

uint32_t leaf_of(Tree &tree, const store::Stack &stack, By by) {
  switch (by) {
    case By::process:
      break;
    case By::name:
      return tree.leaf(without_number(stack.folded));
    case By::host: {
      const auto host = stack.tags.find("host");
      return tree.leaf(tree.leaf(host == stack.tags.end() ? "(no host)" : host->second), stack.folded);
    }
  }
  return tree.leaf(stack.folded);
}

}  // namespace

std::string without_number(std::string_view folded) {
  const std::string_view process = folded.substr(0, folded.find(';'));
  const std::string_view rest = folded.substr(process.size());
  const size_t dash = process.find_last_not_of("0123456789");
  const bool numbered = dash != std::string_view::npos && dash > 0 && process[dash] == '-' && dash + 1 < process.size();
  return std::string(numbered ? process.substr(0, dash) : process) + std::string(rest);
}

void add_stored(Tree &tree, Side side, store::Store &store, const Wanted &wanted, const store::Range &range,
                query::Budget &budget) {
  store::Selection selection;
  selection.tags = wanted.tags;
  selection.tags.push_back({"profile", {wanted.profile}});
  selection.range = range;
  const std::string_view field = wanted.profile == "offcpu" ? "profile.ns" : "profile.samples";
  // Equal stacks have equal numbers: their texts are looked at once.
  std::map<std::pair<int64_t, int64_t>, uint32_t> known;
  store.stacks(selection, [&](const store::Stack &stack) {
    budget.work(1);
    const double value = value_of(stack, field);
    if (value <= 0) return;
    const auto [at, is_new] = known.try_emplace({stack.entity, stack.number});
    if (is_new) {
      budget.hold(1);
      at->second = leaf_of(tree, stack, wanted.by);
    }
    tree.add(at->second, side, value);
  });
  budget.release(known.size());
}

store::Range range_of(std::string_view text, int64_t now_ns) {
  std::optional<store::Range> found;
  for (size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    auto from = query::parse_time(text.substr(0, at), now_ns);
    auto to = query::parse_time(text.substr(at + 1), now_ns);
    if (!from || !to) continue;
    if (found) throw query::Wrong("--diff " + std::string(text) + " can be read in two ways; write times with seconds and a zone");
    found = store::Range{*from, *to};
  }
  if (!found) throw query::Wrong("--diff " + std::string(text) + ": two times with a colon between them, such as -2h:-1h");
  if (found->from_ns >= found->to_ns) throw query::Wrong("--diff " + std::string(text) + " ends before it begins");
  return *found;
}

}  // namespace atalaya::flamegraph
