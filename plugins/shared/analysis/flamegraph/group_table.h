// SPDX-License-Identifier: Apache-2.0
// Formats the first frames of a tree as a table: one line per group, the largest first.
#pragma once

#include <string>

#include "plugins/shared/analysis/flamegraph/picture/picture.h"
#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::flamegraph {

// Returns lines such as " 4.200 s  62.1 %  holder of app-812  app". Call Tree::finish() before.
std::string table_of(const Tree &tree, uint32_t group_depth, Unit unit);

}  // namespace atalaya::flamegraph
