// SPDX-License-Identifier: Apache-2.0
// The outcomes of jobs, and the reasons for failures of jobs and of their parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/jobs/model/tasks.h"

namespace atalaya::jobs {

struct BrokenJob {
  uint32_t job = 0;                  // index of the job
  std::string_view outcome;          // "failed", "succeeded"; "" if unknown
  std::vector<std::string> reasons;  // may have several lines
};

// Returns the jobs that did not succeed, and those with failed stages, executors or attempts. Attempts with the same error are
// one reason. Killed attempts of a job that succeeded are no failures.
std::vector<BrokenJob> broken_jobs(const JobData &data);

// "job", "stage", "executor", "attempt"
std::string_view part_text(JobError::Of of);

}  // namespace atalaya::jobs
