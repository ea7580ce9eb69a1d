// SPDX-License-Identifier: Apache-2.0
// A stage's nodes beside each other: how fast their tasks were, and how often chance alone does that.
#pragma once

#include "plugins/shared/analysis/bottleneck/detect.h"

namespace atalaya::bottleneck {

// Fills in the group's nodes; its entries are graded. Like is compared with like: tasks of a wave with those of the same wave.
void compare_nodes(Group &group, const JobData &data);

}  // namespace atalaya::bottleneck
