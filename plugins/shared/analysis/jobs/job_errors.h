// SPDX-License-Identifier: Apache-2.0
// How jobs ended, and the reasons if they or parts of them broke.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/jobs/model/tasks.h"

namespace atalaya::jobs {

struct BrokenJob {
  uint32_t job = 0;                  // its index among the jobs
  std::string_view outcome;          // "failed", "succeeded"; "" if unknown
  std::vector<std::string> reasons;  // may have several lines
};

// Jobs that did not succeed, and those with failed stages, executors or attempts. Attempts with the same error are one reason; a
// job that succeeded needed none of those that were killed.
std::vector<BrokenJob> broken_jobs(const JobData &data);

// "job", "stage", "executor", "attempt"
std::string_view part_text(JobError::Of of);

}  // namespace atalaya::jobs
