// SPDX-License-Identifier: Apache-2.0
// The slots of executors: each runs one task at a time. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/jobs/model/job_tasks.h"

namespace atalaya::jobs {

using ExecutorKey = std::pair<uint32_t, uint32_t>;  // host, executor

inline ExecutorKey executor_of(const Task &task) {
  return {task.host, task.executor};
}

// Assigns tasks to slots. An executor has as many slots as it reports; without a report, as many as tasks ran there at once. A
// driver may log the end of a task some milliseconds after the slot started its next task: such tasks share the slot.
class Slots {
 public:
  explicit Slots(const JobTasks &tasks);

  // The task before this one in its slot; kNoTask if there is none.
  uint32_t before(uint32_t task) const;
  const std::map<ExecutorKey, size_t> &counts() const { return counts_; }

 private:
  struct Slot {
    int64_t free_ns = 0;
    uint32_t last = kNoTask;
  };
  static Slot &slot_for(std::vector<Slot> &slots, const JobTasks &tasks, uint32_t task, size_t reported);

  std::unordered_map<uint32_t, uint32_t> before_;
  std::map<ExecutorKey, size_t> counts_;
};

}  // namespace atalaya::jobs
