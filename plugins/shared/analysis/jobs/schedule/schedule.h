// SPDX-License-Identifier: Apache-2.0
// Replays a job: its tasks on the slots of its executors, stage after stage. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace atalaya::jobs {

struct PlannedStage {
  std::vector<uint32_t> parents;  // indices of the stages that must end before its tasks can start; smaller than its own
  int64_t gap_ns = 0;             // time from the end of the parents until its first task can start
  int64_t task_gap_ns = 0;        // time between two tasks of a slot
};

struct PlannedTask {
  uint32_t stage = 0, executor = 0;
  int64_t ns = 0;  // duration on an executor of usual speed
};

struct Plan {
  std::vector<PlannedStage> stages;
  std::vector<PlannedTask> tasks;           // in the order in which they start, if a slot is free
  std::vector<uint32_t> slots;              // the executor of each slot
  std::vector<std::vector<double>> slower;  // by executor, then by stage: factor of the duration of tasks
  bool is_pinned = false;                   // each task runs on its executor only; else a free slot takes the next task

  // Time of a task on an executor.
  int64_t time_of(const PlannedTask &task, uint32_t executor) const;
};

// Returns the time from the first possible start of the first stage to the end of the last task. At each instant, first all
// tasks end whose time is over; then the free slots, in order, each start the first task that can start: the gaps of its stage
// are over, and with is_pinned the slot is of its executor.
int64_t replay(const Plan &plan);

}  // namespace atalaya::jobs
