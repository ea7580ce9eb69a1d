// SPDX-License-Identifier: Apache-2.0
// Folded stacks of a file, as any profiler's tools write them.
#pragma once

#include <istream>
#include <string>

#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::flamegraph {

// Adds all lines. What is no stack is left out, and said on standard error once, with the number of the first. Throws Failure.
void add_folded(Tree &tree, Side side, std::istream &in, const std::string &name);
// The same of a file; "-": standard input.
void add_folded_file(Tree &tree, Side side, const std::string &path);

}  // namespace atalaya::flamegraph
