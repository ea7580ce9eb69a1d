// SPDX-License-Identifier: Apache-2.0
// A job as the rules see it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/jobs/schedule/job_replay.h"
#include "plugins/shared/analysis/jobs/schedule/slots.h"

namespace atalaya::jobs {

// The tasks of a stage that ended well.
struct RuleStage {
  uint32_t stage = 0;  // its name
  std::vector<uint32_t> tasks;
};

class RuleJob {
 public:
  // `seconds`: the job's length. The job has a task.
  RuleJob(JobTasks tasks, double seconds);
  RuleJob(const RuleJob &) = delete;
  RuleJob &operator=(const RuleJob &) = delete;

  const JobData &data() const { return tasks_.data(); }
  const JobTasks &tasks() const { return tasks_; }
  const Task &of(uint32_t task) const { return tasks_.task(task); }
  int64_t time(uint32_t task) const { return tasks_.end(task) - tasks_.begin(task); }
  int64_t phase_time(uint32_t task, std::string_view phase) const;  // 0 without such a phase
  const std::string &framework() const { return data().name(data().jobs[tasks_.job()].framework); }
  bool is_spark() const { return framework() == "spark"; }
  const std::vector<RuleStage> &stages() const { return stages_; }
  const StageSpan *span_of(uint32_t stage) const;  // nullptr: the framework does not report it
  // Started on a slot that had no task: the time contains the start of the program, such as the loading of classes.
  bool is_first(uint32_t task) const { return slots_.before(task) == kNoTask; }
  // The first task of its stage in a slot, which loads the stage's classes.
  bool is_first_of_stage(uint32_t task) const {
    const uint32_t before = slots_.before(task);
    return before == kNoTask || of(before).stage != of(task).stage;
  }
  size_t slots() const { return slot_count_; }
  // Reported slots of executors that existed for at least half of this time.
  size_t slots_in(int64_t begin_ns, int64_t end_ns) const;

  double seconds() const { return seconds_; }
  int64_t first_ns() const { return tasks_.begin(tasks_.order().front()); }
  int64_t end_ns() const { return end_ns_; }
  double from_first_task() const { return static_cast<double>(end_ns_ - first_ns()) / 1e9; }
  // A cause must make the job longer by this number of seconds.
  double least() const;
  const JobReplay &replay() const;

  // "stage 0 (sum at Jobs.scala:66)", "map"
  std::string stage_name(uint32_t stage) const;
  // "" if it is not set; nothing if no setting of the job is known.
  std::optional<std::string> setting(std::string_view key) const;

 private:
  const JobTasks tasks_;
  const Slots slots_;
  const double seconds_;
  bool has_settings_ = false;
  size_t slot_count_ = 0;
  int64_t end_ns_ = 0;
  std::vector<RuleStage> stages_;
  mutable std::unique_ptr<JobReplay> replay_;  // made on demand
};

}  // namespace atalaya::jobs
