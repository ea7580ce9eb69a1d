// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/plot/stack.h"

#include <algorithm>
#include <cmath>

#include "plugins/shared/analysis/plot/axis_unit.h"

namespace atalaya::plot {

double Stack::highest() const {
  double highest = 0;
  if (!tops.empty())
    for (const double top : tops.back()) highest = std::max(highest, top);
  return highest;
}

Stack stack_of(const std::vector<Line> &lines, const std::vector<size_t> &members) {
  Stack stack;
  for (const size_t member : members)
    for (const query::Point &point : lines[member].points)
      if (std::isfinite(point.value)) stack.times_ns.push_back(point.time_ns);
  std::sort(stack.times_ns.begin(), stack.times_ns.end());
  stack.times_ns.erase(std::unique(stack.times_ns.begin(), stack.times_ns.end()), stack.times_ns.end());
  std::vector<double> top(stack.times_ns.size(), 0);
  for (const size_t member : members) {
    const double factor = base_factor(lines[member].unit);
    for (const query::Point &point : lines[member].points) {
      if (!std::isfinite(point.value)) continue;
      const auto at = std::lower_bound(stack.times_ns.begin(), stack.times_ns.end(), point.time_ns);
      top[static_cast<size_t>(at - stack.times_ns.begin())] += point.value * factor;
    }
    stack.tops.push_back(top);
  }
  return stack;
}

}  // namespace atalaya::plot
