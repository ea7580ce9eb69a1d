// SPDX-License-Identifier: Apache-2.0
// The charts of the HTML page, as SVG.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/findings/analyse.h"

namespace atalaya::bottleneck {

// A scatter plot of the tasks of a group: start, speed, and the colour of the grade.
std::string scatter_of(const jobs::JobData &data, const jobs::Group &group);
// A bar chart of the number of tasks in the lowest grade by node.
std::string slowest_by_node(const jobs::JobData &data, const jobs::Group &group);
// A bar chart of the speeds of stages and phases before and after the change.
std::string change_of(const jobs::JobData &data, const std::vector<jobs::Compared> &speeds);

}  // namespace atalaya::bottleneck
