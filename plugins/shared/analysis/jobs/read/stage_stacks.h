// SPDX-License-Identifier: Apache-2.0
// Reads the stacks of the slow tasks of a stage, to compare them with those of its median tasks.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/flamegraph/stored.h"
#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::jobs {

// The tasks of a stage to compare.
struct ComparedTasks {
  std::vector<std::string> slow, median;        // ids of attempts
  double slow_seconds = 0, median_seconds = 0;  // median durations
  size_t all = 0;                               // number of attempts that ended without failure
  store::Range range{0, 0};                     // time range of all attempts
};
// Finds the tasks of a stage. `job` "": the only job that has this stage in the range. Throws query::Wrong.
ComparedTasks stage_tasks(const std::string &stage, const std::string &job, store::Store &store, const store::Range &range,
                          query::Budget &budget);
// "stage 2 has 3 slow tasks (median 2.3 s) of 16; the middle half takes 0.8 s"
std::string text_of(const ComparedTasks &tasks, const std::string &stage);

// Adds the stacks of the slow tasks (Side::shown) and of the median tasks (Side::before). Returns the number of tasks with
// stacks of each side.
flamegraph::Values add_stage(flamegraph::Tree &tree, const ComparedTasks &tasks, store::Store &store,
                             const flamegraph::Wanted &wanted, query::Budget &budget);

}  // namespace atalaya::jobs
