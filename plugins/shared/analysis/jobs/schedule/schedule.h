// SPDX-License-Identifier: Apache-2.0
// Replays a job: its tasks on the slots of its executors, stage after stage. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace atalaya::jobs {

struct PlannedStage {
  std::vector<uint32_t> parents;  // stages whose tasks all end before its tasks start; smaller numbers
  int64_t gap_ns = 0;             // from then until its first task can start
  int64_t task_gap_ns = 0;        // between two tasks of a slot
};

struct PlannedTask {
  uint32_t stage = 0, executor = 0;
  int64_t ns = 0;  // on an executor of usual speed
};

struct Plan {
  std::vector<PlannedStage> stages;
  std::vector<PlannedTask> tasks;           // in the order in which they start, if they can
  std::vector<uint32_t> slots;              // the executor of each
  std::vector<std::vector<double>> slower;  // by executor, then by stage: the factor of its tasks' time
  bool is_pinned = false;                   // each task runs on its executor only; else a free slot takes the next task

  // Time of a task on an executor.
  int64_t time_of(const PlannedTask &task, uint32_t executor) const;
};

// From the time at which the first stage can start until the last task ends. At each time, first all tasks end that end then; then
// free slots, in order, each take the first task that can start: the stages' gaps are over, and with is_pinned it is the
// executor's.
int64_t replay(const Plan &plan);

}  // namespace atalaya::jobs
