// SPDX-License-Identifier: Apache-2.0
// The slow tasks of a stage, and the tasks to compare them with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/findings/detect.h"

namespace atalaya::jobs {

struct SlowTasks {
  std::vector<uint32_t> slow;                   // tasks that are slower than chance explains, the slowest first
  std::vector<uint32_t> median;                 // the middle half of the stage's tasks by speed
  double slow_seconds = 0, median_seconds = 0;  // median durations
};

// Finds the slow tasks of a stage. None are slow if the speeds of all tasks differ as those of a healthy stage do.
SlowTasks slow_tasks(const Group &group);

}  // namespace atalaya::jobs
