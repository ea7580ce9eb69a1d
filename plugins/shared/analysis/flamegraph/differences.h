// SPDX-License-Identifier: Apache-2.0
// The functions in which two sets of stacks differ. Pure.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/flamegraph/picture/picture.h"
#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::flamegraph {

// Values per part of the set, such as a task; with callees, a recursive function once.
struct Difference {
  std::string function;
  double shown = 0, before = 0;
  double change() const { return shown - before; }
};

// Functions with more time in the shown set: those that explain most of it first, which are new in it or much longer, and not their
// callers with time in both. Changes that chance explains, and those below 5 % of the largest one, are left out. parts: number of
// parts of each side; `counts`: the values are counts of samples.
std::vector<Difference> differences(const Tree &tree, uint32_t group_depth, const Values &parts, bool counts);

// One line per function, with the time per task of both sides.
std::string text_of(const std::vector<Difference> &differences, Unit unit);

}  // namespace atalaya::flamegraph
