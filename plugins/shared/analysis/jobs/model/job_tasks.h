// SPDX-License-Identifier: Apache-2.0
// The tasks of one job in the order in which they worked, and its stages.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "plugins/shared/analysis/jobs/model/map_phase_ends.h"
#include "plugins/shared/analysis/jobs/model/tasks.h"

namespace atalaya::jobs {

// The tasks with a duration above 0.
class JobTasks {
 public:
  JobTasks(const JobData &data, uint32_t job);
  // `of_job`: the job's tasks, in any order; to divide many jobs in one pass.
  JobTasks(const JobData &data, uint32_t job, std::shared_ptr<const MapPhaseEnds> ends, const std::vector<uint32_t> &of_job);

  const std::vector<uint32_t> &order() const { return order_; }  // tasks in the order in which they started to work
  const JobData &data() const { return data_; }
  uint32_t job() const { return job_; }
  const Task &task(uint32_t index) const { return data_.tasks[index]; }
  bool has(uint32_t index) const { return task(index).job == job_ && task(index).work.duration_ns > 0; }
  int64_t begin(uint32_t index) const { return ends_->begin(task(index)); }
  int64_t end(uint32_t index) const { return task(index).work.end_ns(); }
  // The busy time of a phase, without the time in which it waited for maps. 0: unknown.
  int64_t busy(const Phase &phase) const;

 private:
  void sort();

  const JobData &data_;
  const uint32_t job_;
  std::shared_ptr<const MapPhaseEnds> ends_;
  std::vector<uint32_t> order_;
};

struct JobStages {
  explicit JobStages(const JobTasks &tasks);
  uint32_t number_of_stage(const Task &task) const { return numbers.at(task.stage); }

  std::map<uint32_t, uint32_t> numbers;  // number of a stage, in order of start, by its name
  std::vector<int64_t> begins, ends;
};

}  // namespace atalaya::jobs
