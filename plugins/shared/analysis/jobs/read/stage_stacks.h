// SPDX-License-Identifier: Apache-2.0
// Stacks of the slow tasks of a stage, compared with those of its median ones.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/flamegraph/stored.h"
#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::jobs {

// The tasks of a stage to compare.
struct StageTasks {
  std::vector<std::string> slow, median;        // attempts
  double slow_seconds = 0, median_seconds = 0;  // medians
  size_t all = 0;                               // that ended without failure
  store::Range range{0, 0};                     // of all of them
};
// job: "" = the only one that has this stage in the range. Throws query::Wrong.
StageTasks stage_tasks(const std::string &stage, const std::string &job, store::Store &store, const store::Range &range,
                       query::Budget &budget);
// "stage 2 has 3 slow tasks (median 2.3 s) of 16; the middle half takes 0.8 s"
std::string text_of(const StageTasks &tasks, const std::string &stage);

// Side::shown: the slow ones; before: the others. Returns the number of tasks with stacks of each side.
flamegraph::Values add_stage(flamegraph::Tree &tree, const StageTasks &tasks, store::Store &store, const flamegraph::Wanted &wanted,
                             query::Budget &budget);

}  // namespace atalaya::jobs
