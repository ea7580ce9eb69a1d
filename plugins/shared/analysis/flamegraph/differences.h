// SPDX-License-Identifier: Apache-2.0
// Finds the functions whose time differs between two sets of stacks. Pure.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/flamegraph/picture/picture.h"
#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::flamegraph {

// The time of a function with its callees per part of a set, such as a task; a recursive function counts once.
struct Difference {
  std::string function;
  double shown = 0, before = 0;
  double change() const { return shown - before; }
};

// Returns the functions with more time in the shown set. The rank of a function is its change, times the share of the change in its
// time: so a new or much longer function precedes its callers, which have time in both sets. Omits changes below three standard
// deviations of sample counts, and those below 5 % of the largest change. `parts`: number of parts of each set; `counts`: the
// values are counts of samples.
std::vector<Difference> differences(const Tree &tree, uint32_t group_depth, const Values &parts, bool counts);

// Formats one line per function, with the time per task in both sets.
std::string text_of(const std::vector<Difference> &differences, Unit unit);

}  // namespace atalaya::flamegraph
