// SPDX-License-Identifier: Apache-2.0
// Comparison of a stage's nodes: the speed of their tasks, and the probability of such a difference by chance.
#pragma once

#include "plugins/shared/analysis/jobs/findings/detect.h"

namespace atalaya::jobs {

// Compares the nodes of a group whose entries have grades; sets `nodes`. Compares tasks only with tasks of the same wave.
// Healthy nodes are assumed to differ by less than `minimum`.
void compare_nodes(Group &group, const JobData &data, double minimum);

}  // namespace atalaya::jobs
