// SPDX-License-Identifier: Apache-2.0
// Folded stacks from a file, in the format of common profilers.
#pragma once

#include <istream>
#include <string>

#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::flamegraph {

// Adds all lines. Other lines are skipped and reported once on standard error, with the number of the first. Throws Failure.
void add_folded(Tree &tree, Side side, std::istream &in, const std::string &name);
// The same for a file; "-": standard input.
void add_folded_file(Tree &tree, Side side, const std::string &path);

}  // namespace atalaya::flamegraph
