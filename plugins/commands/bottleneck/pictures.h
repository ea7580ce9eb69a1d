// SPDX-License-Identifier: Apache-2.0
// The figures of the page, as SVG.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/findings/analyse.h"

namespace atalaya::bottleneck {

// Each task of a group by its start and speed, in the colour of its grade.
std::string scatter_of(const jobs::JobData &data, const jobs::Group &group);
// Number of tasks in the lowest grade, by node.
std::string slowest_by_node(const jobs::JobData &data, const jobs::Group &group);
// The speeds of stages and phases before and after, side by side.
std::string change_of(const jobs::JobData &data, const std::vector<jobs::Compared> &speeds);

}  // namespace atalaya::bottleneck
