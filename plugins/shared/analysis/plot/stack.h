// SPDX-License-Identifier: Apache-2.0
// Stacks lines: the top of each area is the sum of its line and all lines below. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plugins/shared/analysis/plot/svg.h"

namespace atalaya::plot {

struct Stack {
  std::vector<int64_t> times_ns;          // times at which at least one line has a value
  std::vector<std::vector<double>> tops;  // [line][time]: top of the area, in bytes, bits or the unit of the line

  double highest() const;  // Returns 0 if there are no lines.
};
// Stacks the lines `members`, the lowest first. A missing value counts as 0.
Stack stack_of(const std::vector<Line> &lines, const std::vector<size_t> &members);

}  // namespace atalaya::plot
