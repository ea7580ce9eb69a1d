// SPDX-License-Identifier: Apache-2.0
// Comparison of a stage's nodes: the speed of their tasks, and the probability of such a difference by chance.
#pragma once

#include "plugins/shared/analysis/jobs/findings/detect.h"

namespace atalaya::jobs {

// Fills in the group's nodes; its entries are graded. Compares tasks only with tasks of the same wave.
// Healthy nodes are assumed to differ by less than `least`.
void compare_nodes(Group &group, const JobData &data, double least);

}  // namespace atalaya::jobs
