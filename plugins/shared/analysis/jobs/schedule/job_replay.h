// SPDX-License-Identifier: Apache-2.0
// The recorded job, ready to be replayed with changes. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/shared/analysis/jobs/findings/slowness.h"
#include "plugins/shared/analysis/jobs/model/job_tasks.h"
#include "plugins/shared/analysis/jobs/schedule/schedule.h"

namespace atalaya::jobs {

class JobReplay {
 public:
  // `seconds`: the job's length. The job has a task.
  JobReplay(const JobTasks &tasks, double seconds);

  const JobTasks &tasks() const { return tasks_; }
  const JobStages &stages() const { return stages_; }
  const Slowness &slowness() const { return slowness_; }
  const std::vector<int64_t> &times() const { return times_; }  // recorded, by index among all tasks
  double observed() const { return observed_; }
  double replayed() const { return replayed_; }  // seconds: the replay of the recorded tasks without a change
  bool is_pinned() const {
    return is_pinned_;
  }                       // the replay in which each task stays on its executor is nearer to the recorded run
  bool is_rough() const;  // the replay differs so much from the recorded run that predictions are rough

  // The recorded job as a plan, with these times of its tasks.
  Plan plan(const std::vector<int64_t> &times) const;
  // Its time from the first stage until the last task ends, in nanoseconds; in the replay that is nearer to the recorded run.
  int64_t length(Plan plan) const;

  // Seconds by which the job is shorter. Faster tasks can lengthen a schedule only because the order of tasks changes by chance;
  // then this is 0.
  double saved(Plan plan) const;
  double saved_with(const std::vector<int64_t> &times) const { return saved(plan(times)); }
  // With the usual speed of the host's tasks, and of its responses to the other hosts.
  double saved_with_usual_speed(uint32_t host) const;

 private:
  std::vector<int64_t> times_with_usual_responses(uint32_t host) const;

  const JobTasks &tasks_;
  const JobStages stages_;
  std::vector<int64_t> times_;
  Slowness slowness_;
  int64_t base_ns_ = 0;
  double observed_ = 0, replayed_ = 0;
  bool is_pinned_ = false;
};

}  // namespace atalaya::jobs
