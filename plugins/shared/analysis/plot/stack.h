// SPDX-License-Identifier: Apache-2.0
// Lines on top of each other: the top of the last one is their sum. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plugins/shared/analysis/plot/svg.h"

namespace atalaya::plot {

struct Stack {
  std::vector<int64_t> times_ns;          // at which at least one line has a value
  std::vector<std::vector<double>> tops;  // of each line at each time, in bytes, bits or its unit

  double highest() const;  // 0 without a line
};
// A line without a value at a time has used nothing. `members`: the lines, from below.
Stack stack_of(const std::vector<Line> &lines, const std::vector<size_t> &members);

}  // namespace atalaya::plot
