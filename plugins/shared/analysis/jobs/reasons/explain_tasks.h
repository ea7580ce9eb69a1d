// SPDX-License-Identifier: Apache-2.0
// The reasons of slow tasks on healthy nodes: only their own reports can be compared.
#pragma once

#include <vector>

#include "plugins/shared/analysis/jobs/findings/findings.h"

namespace atalaya::jobs {

// Fills in checks, reason and summary of a finding about such tasks.
void explain_tasks(Finding &finding, const JobData &data, const std::vector<Group> &groups);

}  // namespace atalaya::jobs
