// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/explain/context.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "plugins/shared/analysis/flamegraph/stored.h"
#include "plugins/shared/store/lookup.h"

namespace atalaya::explain {
namespace {

using store::tag_of;

// Filters for the series of a process: name, host, and pid if it has one.
std::vector<store::TagFilter> filters_of(const Tags &process, const Side &side) {
  std::vector<store::TagFilter> filters = side.tags;
  for (const char *key : {"host", "process", "pid"}) {
    const std::string value = tag_of(process, key);
    if (value.empty()) continue;
    std::erase_if(filters, [&](const store::TagFilter &filter) { return filter.key == key; });
    // As a regular expression, because names may contain the characters * and ? of globs.
    std::string quoted = "~^";
    for (const char c : value) {
      if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) quoted += '\\';
      quoted += c;
    }
    filters.push_back({key, {quoted + "$"}});
  }
  return filters;
}

using FactKey = std::pair<std::string, std::string>;  // host, fact
struct FactValue {
  std::string value;
  int64_t start_ns = 0;
};

// By host and fact: the value at the start of the range, or at its end.
std::map<FactKey, FactValue> facts_in(const Side &side, bool first, Reader &reader) {
  std::map<FactKey, FactValue> facts;
  store::Selection selection;
  selection.metrics = {"fact"};
  for (const store::TagFilter &filter : side.tags)
    if (filter.key == "host") selection.tags.push_back(filter);
  selection.range = side.range;
  reader.store.spans(selection, [&](const store::Span &span) {
    reader.budget.work(1);
    if (span.tags.contains("job")) return;  // the span has settings of a job, not of the host
    FactValue value{tag_of(span.tags, "value"), span.start_ns};
    const auto [known, is_new] = facts.try_emplace({tag_of(span.tags, "host"), tag_of(span.tags, "fact")}, value);
    if (!is_new && (first ? span.start_ns < known->second.start_ns : span.start_ns > known->second.start_ns))
      known->second = std::move(value);
  });
  return facts;
}

}  // namespace

std::vector<FactChange> changed_facts(const Side &baseline, const Side &window, Reader &reader) {
  const auto before = facts_in(baseline, true, reader), after = facts_in(window, false, reader);
  std::vector<FactChange> changes;
  for (const auto &[key, value] : after) {
    const auto old = before.find(key);
    if (old != before.end() && old->second.value != value.value)
      changes.push_back({key.first, key.second, old->second.value, value.value, value.start_ns});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const FactChange &a, const FactChange &b) { return a.time_ns > b.time_ns; });
  return changes;
}

std::vector<FunctionChange> grown_functions(const Tags &process, const Side &baseline, const Side &window, size_t maximum,
                                            Reader &reader) {
  constexpr double kLeastSamples = 20, kMinGrowth = 2;  // per cent
  flamegraph::Tree tree;
  flamegraph::Wanted wanted;
  wanted.by = flamegraph::By::name;
  wanted.tags = filters_of(process, window);
  add_stored(tree, flamegraph::Side::shown, reader.store, wanted, window.range, reader.budget);
  wanted.tags = filters_of(process, baseline);
  add_stored(tree, flamegraph::Side::before, reader.store, wanted, baseline.range, reader.budget);
  tree.finish();
  const double shown = tree.root().shown(), before = tree.root().before();
  if (shown < kLeastSamples) return {};
  std::map<std::string_view, FunctionChange> by_name;
  for (uint32_t i = 0; i < tree.size(); ++i) {
    const flamegraph::Node &node = tree.node(i);
    if (node.depth < 2 || (node.self[0] == 0 && node.self[1] == 0)) continue;
    FunctionChange &function = by_name[tree.name(i)];
    function.after += 100 * node.self[0] / shown;
    if (before > 0) function.before += 100 * node.self[1] / before;
  }
  std::vector<FunctionChange> functions;
  for (auto &[name, function] : by_name) {
    function.name = name;
    if (function.after - function.before >= kMinGrowth) functions.push_back(std::move(function));
  }
  std::stable_sort(functions.begin(), functions.end(),
                   [](const FunctionChange &a, const FunctionChange &b) { return a.after - a.before > b.after - b.before; });
  functions.resize(std::min(functions.size(), maximum));
  return functions;
}

std::vector<PeerChange> changed_peers(const Tags &process, const Side &baseline, const Side &window, size_t maximum,
                                      Reader &reader) {
  Resource flows;
  flows.metrics = {"flow.in.bytes", "flow.out.bytes"};
  flows.scale = 1.0 / (1 << 20);
  flows.keys = {"remote"};
  std::map<std::string, PeerChange> peers;
  for (const auto &[side, member] : {std::pair{&baseline, &PeerChange::before}, {&window, &PeerChange::after}}) {
    const Side own{side->range, filters_of(process, *side)};
    for (const auto &[tags, part] : parts_of(flows, own, Steps(own.range, 0, 1), false, reader)) {
      PeerChange &peer = peers[tag_of(tags, "remote")];
      peer.remote = tag_of(tags, "remote");
      peer.*member += part.values.front();
    }
  }
  std::vector<PeerChange> changes;
  constexpr double kLeast = 0.01;  // MiB/s
  for (auto &[remote, peer] : peers)
    if (!remote.empty() && std::abs(peer.after - peer.before) >= kLeast) changes.push_back(std::move(peer));
  std::stable_sort(changes.begin(), changes.end(), [](const PeerChange &a, const PeerChange &b) {
    return std::abs(a.after - a.before) > std::abs(b.after - b.before);
  });
  changes.resize(std::min(changes.size(), maximum));
  return changes;
}

std::vector<std::string> new_phases(const Tags &process, const Side &baseline, const Side &window, Reader &reader) {
  std::set<std::string> before, after;
  for (const auto &[side, names] : {std::pair{&baseline, &before}, {&window, &after}}) {
    store::Selection selection{{"phase"}, filters_of(process, *side), side->range};
    reader.store.spans(selection, [&](const store::Span &span) {
      reader.budget.work(1);
      if (const std::string phase = tag_of(span.tags, "phase"); !phase.empty()) names->insert(phase);
    });
  }
  std::vector<std::string> phases;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(phases));
  return phases;
}

}  // namespace atalaya::explain
