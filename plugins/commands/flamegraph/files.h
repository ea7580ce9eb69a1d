// SPDX-License-Identifier: Apache-2.0
// Reads folded stacks ("main;f;g 12" per line) from a file.
#pragma once

#include <istream>
#include <string>

#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::flamegraph {

// Adds all folded stacks to one side of the tree. Malformed lines are skipped and reported once on standard error, with the number
// of the first. Throws Failure.
void add_folded(Tree &tree, Side side, std::istream &in, const std::string &name);
// Adds the folded stacks of the file; "-" is standard input.
void add_folded_file(Tree &tree, Side side, const std::string &path);

}  // namespace atalaya::flamegraph
