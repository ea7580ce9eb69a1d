// SPDX-License-Identifier: Apache-2.0
// The end of the map phase of each job. Reduces start earlier, and their shuffle waits for the last map.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plugins/shared/analysis/jobs/model/tasks.h"

namespace atalaya::jobs {

class MapPhaseEnds {
 public:
  explicit MapPhaseEnds(const JobData &data) : data_(data), ends_(data.jobs.size(), 0) {
    for (const Task &task : data.tasks)
      if (task.is_done() && data.name(task.stage) == "map") ends_[task.job] = std::max(ends_[task.job], task.work.end_ns());
  }

  bool starts_before_map_end(const Task &task) const {
    return data_.name(task.stage) == "reduce" && task.work.start_ns < ends_[task.job];
  }
  int64_t begin(const Task &task) const { return begin(task, task.work.start_ns, task.work.end_ns()); }
  // The time at which all input of the task, or of its work from `start_ns` to `end_ns`, existed.
  int64_t begin(const Task &task, int64_t start_ns, int64_t end_ns) const {
    const bool waits =
        starts_before_map_end(task) && ends_[task.job] < end_ns;  // else a map was run again after its output was fetched
    return waits ? std::max(start_ns, ends_[task.job]) : start_ns;
  }

 private:
  const JobData &data_;
  std::vector<int64_t> ends_;  // end of the map phase by job
};

}  // namespace atalaya::jobs
