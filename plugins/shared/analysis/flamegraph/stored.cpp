// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/stored.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "plugins/shared/store/lookup.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::flamegraph {
namespace {

void append_frame(std::string &stack, std::string_view name) {
  if (!stack.empty()) stack += ';';
  const size_t begin = stack.size();
  stack += name;
  std::replace(stack.begin() + static_cast<std::ptrdiff_t>(begin), stack.end(), ';', ':');
}

store::Selection selected(const Wanted &wanted, const store::Range &range) {
  store::Selection selection;
  selection.tags = wanted.tags;
  selection.tags.push_back({"profile", {wanted.profile}});
  selection.range = range;
  return selection;
}

std::vector<std::string> names_with_stacks(store::Store &store, const store::Selection &selection, query::Budget &budget) {
  std::set<std::string> names;
  store.stacks(selection, [&](const store::Stack &stack) {
    budget.work(1);
    if (const auto name = stack.tags.find("process"); name != stack.tags.end()) names.insert(name->second);
  });
  return {names.begin(), names.end()};
}

}  // namespace

std::string reason_for_no_stacks(store::Store &store, const Wanted &wanted, const store::Range &range, query::Budget &budget) {
  constexpr size_t kMaxNamed = 5;
  store::Selection others = selected(wanted, range);
  const auto process = std::find_if(others.tags.begin(), others.tags.end(), [](const auto &tag) { return tag.key == "process"; });
  if (process == others.tags.end()) {
    if (!wanted.tags.empty()) return " with these tags";
    if (wanted.profile == "offcpu") return "; source perf collects them with profile = \"offcpu\" at the end of each window";
    if (wanted.profile == "waker") return "; source perf collects them with wakers = \"1s\", after the first burst";
    if (wanted.profile == "wall") return "; source jvm collects them at the end of each window";
    return "; source perf collects them at the end of each window (pipelines/profile.lua: after the first whole minute)";
  }
  const std::string asked = process->patterns.front();
  others.tags.erase(process);
  const std::vector<std::string> names = names_with_stacks(store, others, budget);
  std::string text = " of process " + core::in_quotes(asked);
  if (const std::string near = core::did_you_mean(asked, names); !near.empty()) return text + near;
  for (size_t i = 0; i < std::min(names.size(), kMaxNamed); ++i) text += (i == 0 ? "; available: " : ", ") + names[i];
  return text + (names.size() > kMaxNamed ? ", ..." : "");
}

std::string process_frames(const store::Tags &tags, By by, const OwnerName &owner_name) {
  const auto value = [&](const char *key) {
    const auto found = tags.find(key);
    return found == tags.end() ? std::string() : found->second;
  };
  std::string frames;
  if (by == By::host) append_frame(frames, tags.contains("host") ? value("host") : "(no host)");
  if (by == By::reason) append_frame(frames, tags.contains("reason") ? value("reason") : "(no reason)");
  if (by == By::owner) append_frame(frames, owner_name ? owner_name(tags) : tags.contains("owner") ? value("owner") : "(no owner)");
  const std::string name = tags.contains("process") ? value("process") : "(no process)";
  const bool numbered = by != By::name && by != By::reason && by != By::owner && tags.contains("pid");
  append_frame(frames, numbered ? name + "-" + value("pid") : name);
  return frames;
}

void add_stored(Tree &tree, Side side, store::Store &store, const Wanted &wanted, const store::Range &range, query::Budget &budget,
                const Visitor &visitor) {
  const store::Selection selection = selected(wanted, range);
  const std::string_view field = wanted.counts_time() ? "profile.ns" : "profile.samples";
  // Equal stacks have equal ids, and equal processes have equal entities, so their texts are parsed once.
  std::unordered_map<int64_t, uint32_t> processes;
  std::map<std::pair<int64_t, int64_t>, uint32_t> known;
  store.stacks(selection, [&](const store::Stack &stack) {
    budget.work(1);
    const double value = store::field_of(stack.fields, field);
    if (value <= 0 || (wanted.only && !wanted.only(stack))) return;
    const auto [at, is_new] = known.try_emplace({stack.entity, stack.number});
    if (is_new) {
      budget.reserve(1);
      const auto [process, is_new_process] = processes.try_emplace(stack.entity);
      if (is_new_process) process->second = tree.add_stack(process_frames(stack.tags, wanted.by, wanted.owner_name));
      at->second = tree.add_stack(process->second, stack.folded);
    }
    tree.add(at->second, side, value);
    if (visitor) visitor(stack);
  });
  budget.release(known.size());
}

void add_task(Tree &tree, const std::string &id, store::Store &store, const Wanted &wanted, const store::Range &range,
              query::Budget &budget) {
  for (const char *tag : {"attempt", "task"}) {
    if (tree.size() > 1) return;
    Wanted of_task = wanted;
    of_task.tags.push_back({tag, {query::exact_pattern(id)}});
    add_stored(tree, Side::shown, store, of_task, range, budget);
  }
}

By parse_by(std::string_view name) {
  if (name == "host") return By::host;
  if (name == "name") return By::name;
  if (name == "owner") return By::owner;
  return name == "reason" ? By::reason : By::process;
}

}  // namespace atalaya::flamegraph
