// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/differences.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "plugins/shared/analysis/flamegraph/functions.h"

namespace atalaya::flamegraph {
namespace {

constexpr double kDeviations = 3;   // in standard deviations of counts: smaller changes are chance
constexpr double kMinShare = 0.05;  // minimum share of the largest change
constexpr size_t kMaxFunctions = 10;

// The rank of a difference: the change times its share of the function's value, so that new functions rank first.
double weight(const Difference &one) {
  return one.change() * one.change() / one.shown;
}

}  // namespace

std::vector<Difference> differences(const Tree &tree, uint32_t group_depth, const Values &parts, bool counts) {
  std::unordered_map<std::string_view, Values> functions;
  for (uint32_t i = 1; i < tree.size(); ++i) {
    const Node &node = tree.node(i);
    if (node.depth <= group_depth || (node.shown() == 0 && node.before() == 0) || is_recursive(tree, i)) continue;
    Values &sum = functions[tree.name(i)];
    for (size_t side = 0; side < 2; ++side) sum[side] += node.total[side];
  }
  std::vector<Difference> found;
  double largest = 0;
  for (const auto &[name, sum] : functions) {
    const Difference one{std::string(name), sum[0] / parts[0], sum[1] / parts[1]};
    const double deviation = counts ? std::sqrt(sum[0] / (parts[0] * parts[0]) + sum[1] / (parts[1] * parts[1])) : 0;
    if (one.change() <= kDeviations * deviation) continue;
    largest = std::max(largest, one.change());
    found.push_back(one);
  }
  std::erase_if(found, [&](const Difference &one) { return one.change() < kMinShare * largest; });
  std::sort(found.begin(), found.end(), [](const Difference &a, const Difference &b) {
    return weight(a) != weight(b) ? weight(a) > weight(b) : a.function < b.function;
  });
  return found;
}

std::string text_of(const std::vector<Difference> &differences, Unit unit) {
  std::string text;
  for (size_t i = 0; i < std::min(differences.size(), kMaxFunctions); ++i) {
    const Difference &one = differences[i];
    text += "  +" + value_text(one.change(), unit) + " per task: " + one.function + " (" + value_text(one.shown, unit) + ", was " +
            value_text(one.before, unit) + ")\n";
  }
  return text.empty() ? "  no function differs by more than chance\n" : text;
}

}  // namespace atalaya::flamegraph
