// SPDX-License-Identifier: Apache-2.0
// The functions of a tree of stacks, and the table of those with most time. Pure.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/flamegraph/picture/picture.h"
#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::flamegraph {

// Returns true if an ancestor of the node is the same function.
bool is_recursive(const Tree &tree, uint32_t node);

struct Function {
  std::string name;
  Values self{}, total{};  // total: including callees; a recursive function counts once
};

// Returns all functions with time in descending order of self time. Nodes up to `group_depth` are no functions.
std::vector<Function> functions_of(const Tree &tree, uint32_t group_depth);

// Formats the functions as a table of at most 80 columns. The self times add up to the time of the tree; shares are equal to those
// in the picture.
std::string function_table(const Tree &tree, uint32_t group_depth, const Style &style, size_t top);

}  // namespace atalaya::flamegraph
