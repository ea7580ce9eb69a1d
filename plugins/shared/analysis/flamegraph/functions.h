// SPDX-License-Identifier: Apache-2.0
// The functions of a tree of stacks, and the table of those with most time. Pure.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/flamegraph/picture/picture.h"
#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::flamegraph {

// Whether a node above has the same function.
bool is_recursive(const Tree &tree, uint32_t node);

struct Function {
  std::string name;
  Values self{}, total{};  // in it; in it and its callees, a recursive function once
};

// All functions with time, those with most time of their own first. Nodes up to `group_depth` are no functions.
std::vector<Function> functions_of(const Tree &tree, uint32_t group_depth);

// At most 80 columns wide. The column of own time adds up to the time of the whole tree; shares are those of the picture.
std::string function_table(const Tree &tree, uint32_t group_depth, const Style &style, size_t top);

}  // namespace atalaya::flamegraph
