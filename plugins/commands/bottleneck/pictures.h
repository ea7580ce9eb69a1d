// SPDX-License-Identifier: Apache-2.0
// The figures of the page, as SVG.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/bottleneck/analyse.h"

namespace atalaya::bottleneck {

// Each task of a group by its start and speed, in the colour of its grade.
std::string scatter_of(const JobData &data, const Group &group);
// Number of tasks in the lowest grade, by node.
std::string slowest_by_node(const JobData &data, const Group &group);
// The speeds of stages and phases before and after, side by side.
std::string change_of(const JobData &data, const std::vector<Compared> &speeds);

}  // namespace atalaya::bottleneck
