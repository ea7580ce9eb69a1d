// SPDX-License-Identifier: Apache-2.0
// Why tasks are slow by themselves: only what they tell of themselves can be compared.
#pragma once

#include <vector>

#include "plugins/shared/analysis/bottleneck/findings.h"

namespace atalaya::bottleneck {

// Fills in checks, reason and summary of a finding of such tasks.
void explain_tasks(Finding &finding, const JobData &data, const std::vector<Group> &groups);

}  // namespace atalaya::bottleneck
