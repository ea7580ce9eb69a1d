// SPDX-License-Identifier: Apache-2.0
// The functions and stacks with the largest values, as numbers instead of a picture.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/text/json_writer.h"
#include "plugins/commands/serve/page/page_api.h"
#include "plugins/commands/serve/page/page_stacks.h"
#include "plugins/shared/analysis/flamegraph/stored.h"

namespace atalaya::serve {
namespace {

struct FunctionTime {
  double self = 0;
  double total = 0;    // value of the stacks that contain the function; each stack counts once
  uint32_t depth = 0;  // number of its frames on the current path (recursion)
};
using FunctionTimes = std::unordered_map<std::string_view, FunctionTime>;

// Adds the functions of all nodes. Frames of hosts and processes are not functions.
FunctionTimes function_times(const flamegraph::Tree &tree, uint32_t group_depth) {
  FunctionTimes times;
  // Depth-first traversal: a node is entered, and left after its children.
  std::vector<std::pair<uint32_t, bool>> path = {{0, false}};
  while (!path.empty()) {
    const auto [number, entered] = path.back();
    path.pop_back();
    const flamegraph::Node &node = tree.node(number);
    FunctionTime *function = node.depth > group_depth ? &times[tree.name(number)] : nullptr;
    if (entered) {
      if (function != nullptr) --function->depth;
      continue;
    }
    path.emplace_back(number, true);
    if (function != nullptr) {
      function->self += node.self[0];
      if (function->depth++ == 0) function->total += node.shown();
    }
    for (const uint32_t child : tree.children(number)) path.emplace_back(child, false);
  }
  return times;
}

void write_functions(core::JsonWriter &json, const FunctionTimes &times, size_t limit) {
  std::vector<std::pair<std::string_view, FunctionTime>> order(times.begin(), times.end());
  std::sort(order.begin(), order.end(), [](const auto &a, const auto &b) {
    return a.second.self != b.second.self ? a.second.self > b.second.self : a.first < b.first;
  });
  order.resize(std::min(order.size(), limit));
  json.key("functions").list();
  for (const auto &[name, time] : order)
    json.object().key("name").text(name).key("self").number(time.self).key("total").number(time.total).end_object();
  json.end_list();
}

void write_stacks(core::JsonWriter &json, const flamegraph::Tree &tree, size_t limit) {
  std::vector<uint32_t> leaves;
  for (uint32_t number = 1; number < tree.size(); ++number)
    if (tree.node(number).self[0] > 0) leaves.push_back(number);
  std::stable_sort(leaves.begin(), leaves.end(),
                   [&](uint32_t a, uint32_t b) { return tree.node(a).self[0] > tree.node(b).self[0]; });
  leaves.resize(std::min(leaves.size(), limit));
  json.key("stacks").list();
  for (const uint32_t leaf : leaves) {
    std::vector<std::string_view> frames;
    for (uint32_t number = leaf; number != 0; number = tree.node(number).parent) frames.push_back(tree.name(number));
    json.object().key("value").number(tree.node(leaf).self[0]).key("frames").list();
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) json.text(*frame);
    json.end_list().end_object();
  }
  json.end_list();
}

}  // namespace

std::string page_functions(PageCall &call) {
  const flamegraph::Wanted wanted = read_stacks_wanted(call.request);
  const auto limit = static_cast<size_t>(page_count(call.request, "limit", 20, 1, 10'000));
  const query::Range range = call.range();
  flamegraph::Tree tree;
  flamegraph::add_stored(tree, flamegraph::Side::shown, call.store, wanted, range, call.budget);
  tree.finish();
  const double total = tree.root().shown();
  core::JsonWriter json;
  json.object().key("unit").text(wanted.counts_time() ? "ns" : "samples").key("total").number(total);
  json.key("reason").text_or_null(
      total > 0 ? "" : "no stacks" + flamegraph::reason_for_no_stacks(call.store, wanted, range, call.budget));
  write_functions(json, function_times(tree, wanted.group_depth()), limit);
  write_stacks(json, tree, limit);
  return json.end_object().take();
}

}  // namespace atalaya::serve
