// SPDX-License-Identifier: Apache-2.0
// The reasons of slow tasks on healthy nodes. Only values that the tasks report can be compared.
#pragma once

#include <vector>

#include "plugins/shared/analysis/jobs/findings/findings.h"

namespace atalaya::jobs {

// Sets checks, reason and summary of a finding about slow tasks.
void explain_tasks(Finding &finding, const JobData &data, const std::vector<Group> &groups);

}  // namespace atalaya::jobs
