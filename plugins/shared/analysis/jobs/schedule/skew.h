// SPDX-License-Identifier: Apache-2.0
// Findings from the bytes and outcomes of tasks, independent of speed: tasks with far more data than the others, nodes where
// attempts fail.
#pragma once

#include <vector>

#include "plugins/shared/analysis/jobs/findings/findings.h"
#include "plugins/shared/analysis/jobs/rules/rule_job.h"

namespace atalaya::jobs {

// Finds tasks with far more bytes than the others of their stage for which the job waited. `of_job`: indices of the job's groups.
std::vector<Finding> find_skew(const RuleJob &job, const std::vector<Group> &groups, const std::vector<size_t> &of_job);

// Finds nodes on which more attempts fail than chance explains.
std::vector<Finding> find_failing(const JobData &data, const std::vector<Group> &groups);

}  // namespace atalaya::jobs
