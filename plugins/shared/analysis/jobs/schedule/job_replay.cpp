// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/schedule/job_replay.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"
#include "plugins/shared/analysis/jobs/schedule/slots.h"

namespace atalaya::jobs {
namespace {

constexpr double kRough = 0.1;

// Derives the parents of a stage: the stages that ended before it started.
void add_stages(Plan &plan, const JobStages &stages) {
  plan.stages.resize(stages.begins.size());
  for (uint32_t stage = 0; stage < stages.begins.size(); ++stage) {
    int64_t ready = stages.begins.front();
    for (uint32_t earlier = 0; earlier < stage; ++earlier) {
      if (stages.ends[earlier] > stages.begins[stage]) continue;
      plan.stages[stage].parents.push_back(earlier);
      ready = std::max(ready, stages.ends[earlier]);
    }
    plan.stages[stage].gap_ns = stages.begins[stage] - ready;
  }
}

// The slots of all executors in the order of their numbers. The gap between two tasks of a slot is the scheduling delay only while
// tasks of the stage wait.
void add_slots(Plan &plan, const JobTasks &tasks, const JobStages &stages) {
  const Slots slots(tasks);
  uint32_t executor = 0;
  for (const auto &[key, count] : slots.counts()) plan.slots.insert(plan.slots.end(), count, executor++);
  std::vector<std::vector<double>> gaps(stages.begins.size());
  for (const uint32_t task : tasks.order()) {
    const uint32_t before = slots.before(task), stage = stages.number_of_stage(tasks.task(task));
    if (before == kNoTask || tasks.end(before) <= stages.begins[stage]) continue;
    gaps[stage].push_back(std::max(0.0, static_cast<double>(tasks.begin(task) - tasks.end(before))));
  }
  for (size_t i = 0; i < gaps.size(); ++i)
    if (!gaps[i].empty()) plan.stages[i].task_gap_ns = std::llround(evidence::median(gaps[i]));
}

int64_t length_with(Plan plan, bool is_pinned) {
  plan.is_pinned = is_pinned;
  return replay(plan);
}

int64_t last_end(const JobTasks &tasks) {
  int64_t last = 0;
  for (const uint32_t i : tasks.order()) last = std::max(last, tasks.end(i));
  return last;
}

}  // namespace

JobReplay::JobReplay(const JobTasks &tasks, double seconds)
    : tasks_(tasks), stages_(tasks), times_(tasks.data().tasks.size()), observed_(seconds) {
  for (const uint32_t i : tasks.order()) times_[i] = tasks.end(i) - tasks.begin(i);
  slowness_ = slowness_of(tasks_, stages_, times_);
  const Plan recorded = plan(times_);
  const int64_t pinned = length_with(recorded, true), balanced = length_with(recorded, false);
  const double task_seconds = static_cast<double>(last_end(tasks) - tasks.begin(tasks.order().front())) / 1e9;
  const auto miss = [&](int64_t ns) { return std::abs(static_cast<double>(ns) / 1e9 - task_seconds); };
  is_pinned_ = miss(pinned) < miss(balanced);
  base_ns_ = is_pinned_ ? pinned : balanced;
  // The time before the first task and after the last one does not change.
  replayed_ = seconds - task_seconds + static_cast<double>(base_ns_) / 1e9;
}

bool JobReplay::is_rough() const {
  return std::abs(replayed_ - observed_) > kRough * observed_;
}

int64_t JobReplay::length(Plan plan) const {
  return length_with(std::move(plan), is_pinned_);
}

double JobReplay::saved(Plan plan) const {
  return static_cast<double>(std::max<int64_t>(base_ns_ - length(std::move(plan)), 0)) / 1e9;
}

Plan JobReplay::plan(const std::vector<int64_t> &times) const {
  const Slowness slowness = slowness_of(tasks_, stages_, times);
  Plan plan;
  add_stages(plan, stages_);
  std::map<ExecutorKey, uint32_t> executors;
  for (const uint32_t i : tasks_.order()) executors[executor_of(tasks_.task(i))];
  for (auto &[key, number] : executors) {
    number = static_cast<uint32_t>(plan.slower.size());
    std::vector<double> slower;
    for (uint32_t stage = 0; stage < stages_.begins.size(); ++stage) slower.push_back(slowness.factor(key.first, stage));
    plan.slower.push_back(std::move(slower));
  }
  for (const uint32_t i : tasks_.order()) {
    const uint32_t stage = stages_.number_of_stage(tasks_.task(i)), executor = executors.at(executor_of(tasks_.task(i)));
    plan.tasks.push_back({stage, executor, std::llround(static_cast<double>(times[i]) / plan.slower[executor][stage])});
  }
  add_slots(plan, tasks_, stages_);
  return plan;
}

// Tasks fetch from all hosts concurrently, so they wait for the slowest host. Its answers are assumed to be slower by the same
// factor as its tasks in the stage in which it is slowest.
std::vector<int64_t> JobReplay::times_with_usual_responses(uint32_t host) const {
  const JobData &data = tasks_.data();
  const auto maximum = slowness_.maximum.find(host);
  const double slower = maximum == slowness_.maximum.end() ? 1 : std::max(1.0, maximum->second);
  std::vector<int64_t> times = times_;
  for (const Phase &phase : data.phases) {
    if (!tasks_.has(phase.task) || tasks_.task(phase.task).host == host || !needs_of(data.name(phase.phase)).network) continue;
    const int64_t fetch = std::min(tasks_.busy(phase), times[phase.task]);
    times[phase.task] -= std::llround((1 - 1 / slower) * static_cast<double>(fetch));
  }
  return times;
}

double JobReplay::saved_with_usual_speed(uint32_t host) const {
  Plan faster = plan(times_with_usual_responses(host));
  std::set<ExecutorKey> keys;
  for (const uint32_t i : tasks_.order()) keys.insert(executor_of(tasks_.task(i)));
  uint32_t executor = 0;
  for (const ExecutorKey &key : keys) {
    if (key.first == host)
      for (double &factor : faster.slower[executor]) factor = std::min(factor, 1.0);
    ++executor;
  }
  return saved(std::move(faster));
}

}  // namespace atalaya::jobs
