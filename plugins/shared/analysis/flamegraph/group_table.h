// SPDX-License-Identifier: Apache-2.0
// The first frames of a tree as text: one line per group, the largest first.
#pragma once

#include <string>

#include "plugins/shared/analysis/flamegraph/picture/picture.h"
#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::flamegraph {

// " 4.200 s  62.1 %  holder of app-812  app". The tree is finished.
std::string table_of(const Tree &tree, uint32_t group_depth, Unit unit);

}  // namespace atalaya::flamegraph
