// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/schedule/what_if.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/findings/slowness.h"
#include "plugins/shared/analysis/jobs/model/job_tasks.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"
#include "plugins/shared/analysis/jobs/schedule/slots.h"

namespace atalaya::jobs {
namespace {

constexpr size_t kMinOfBoth = 3;  // minimum local tasks and minimum remote tasks
constexpr double kRough = 0.1;
constexpr double kWorthTelling = 0.02;  // minimum saving, as a share of the tasks' time
constexpr size_t kMaxNodes = 3;
constexpr double kFar = 0.5, kNear = 0.1;  // share of bytes over the network: minimum of remote tasks, maximum of local tasks

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

// Adds an executor with the usual number of slots.
void add_executor(Plan &plan) {
  std::map<uint32_t, double> counts;
  for (const uint32_t executor : plan.slots) ++counts[executor];
  std::vector<double> sizes;
  for (const auto &[executor, count] : counts) sizes.push_back(count);
  const auto executor = static_cast<uint32_t>(plan.slower.size());
  plan.slower.emplace_back(plan.stages.size(), 1.0);
  plan.slots.insert(plan.slots.end(), static_cast<size_t>(std::max(1.0, std::floor(evidence::median(sizes)))), executor);
}

class Predictor {
 public:
  Predictor(const JobData &data, uint32_t job, double seconds)
      : data_(data), job_(job), tasks_(data, job), stages_(tasks_), times_(data.tasks.size()) {
    for (const uint32_t i : tasks_.order()) {
      times_[i] = tasks_.end(i) - tasks_.begin(i);
      all_ += static_cast<double>(times_[i]);
    }
    slowness_ = slowness_of(tasks_, stages_, times_);
    const Plan plan = plan_of(data, job, times_);
    const int64_t pinned = length_with(plan, true), balanced = length_with(plan, false);
    const double task_seconds = static_cast<double>(last_end() - tasks_.begin(tasks_.order().front())) / 1e9;
    const auto miss = [&](int64_t ns) { return std::abs(static_cast<double>(ns) / 1e9 - task_seconds); };
    found_.is_pinned = miss(pinned) < miss(balanced);
    base_ = found_.is_pinned ? pinned : balanced;
    found_.observed = seconds;
    // The time before the first task and after the last one does not change.
    found_.replayed = seconds - task_seconds + static_cast<double>(base_) / 1e9;
  }

  WhatIf predict() {
    Plan more = plan_of(data_, job_, times_);
    add_executor(more);
    add("one executor more", length_with(std::move(more), false) - length_with(plan_of(data_, job_, times_), false));
    for (const uint32_t host : slow_hosts()) add("node " + data_.name(host) + " as fast as the others", with_usual_speed(host));
    if (const auto times = without_remote()) add("no remote reads", with_times(*times));
    if (const auto times = without_gc()) add("no garbage collection", with_times(*times));
    return std::move(found_);
  }

 private:
  int64_t last_end() const {
    int64_t last = 0;
    for (const uint32_t i : tasks_.order()) last = std::max(last, tasks_.end(i));
    return last;
  }

  // Faster tasks can lengthen a schedule only because the order of tasks changes by chance; then the saving is 0.
  void add(std::string change, int64_t difference_ns) {
    const int64_t shorter = std::min<int64_t>(difference_ns, 0);
    found_.predictions.push_back({std::move(change), found_.observed + static_cast<double>(shorter) / 1e9});
  }

  int64_t with_times(const std::vector<int64_t> &times) const {
    return length_with(plan_of(data_, job_, times), found_.is_pinned) - base_;
  }

  // The hosts in descending order of the time that their slow tasks lost.
  std::vector<uint32_t> slow_hosts() const {
    std::map<uint32_t, double> lost;
    for (const uint32_t i : tasks_.order()) {
      const Task &task = tasks_.task(i);
      const double factor = slowness_.factor(task.host, stages_.number_of_stage(task));
      if (factor > 1) lost[task.host] += static_cast<double>(times_[i]) * (1 - 1 / factor);
    }
    std::vector<uint32_t> hosts;
    for (const auto &[host, ns] : lost)
      if (host != 0 && ns >= kWorthTelling * all_) hosts.push_back(host);
    std::stable_sort(hosts.begin(), hosts.end(), [&](uint32_t a, uint32_t b) { return lost[a] > lost[b]; });
    hosts.resize(std::min(hosts.size(), kMaxNodes));
    return hosts;
  }

  // Tasks fetch from all hosts concurrently, so they wait for the slowest host. Its answers are assumed to be slower by the same
  // factor as its tasks in the stage in which it is slowest.
  std::vector<int64_t> times_with_usual_responses(uint32_t host) const {
    const auto maximum = slowness_.maximum.find(host);
    const double slower = maximum == slowness_.maximum.end() ? 1 : std::max(1.0, maximum->second);
    std::vector<int64_t> times = times_;
    for (const Phase &phase : data_.phases) {
      if (!tasks_.has(phase.task) || tasks_.task(phase.task).host == host || !needs_of(data_.name(phase.phase)).network) continue;
      const int64_t fetch = std::min(tasks_.busy(phase), times[phase.task]);
      times[phase.task] -= std::llround((1 - 1 / slower) * static_cast<double>(fetch));
    }
    return times;
  }

  int64_t with_usual_speed(uint32_t host) const {
    Plan plan = plan_of(data_, job_, times_with_usual_responses(host));
    std::set<ExecutorKey> keys;
    for (const uint32_t i : tasks_.order()) keys.insert(executor_of(tasks_.task(i)));
    uint32_t executor = 0;
    for (const ExecutorKey &key : keys) {
      if (key.first == host)
        for (double &factor : plan.slower[executor]) factor = std::min(factor, 1.0);
      ++executor;
    }
    return length_with(std::move(plan), found_.is_pinned) - base_;
  }

  // Sets the time of remote tasks to the median time of local tasks of their stage, if both are known.
  std::optional<std::vector<int64_t>> without_remote() const {
    std::map<uint32_t, std::pair<std::vector<double>, std::vector<double>>> stages;  // local, remote
    const auto share = [](const Task &task) {
      return task.remote_of > 0 && task.work.remote != kUnknown
                 ? std::optional(static_cast<double>(task.work.remote) / static_cast<double>(task.remote_of))
                 : std::nullopt;
    };
    for (const uint32_t i : tasks_.order()) {
      const auto part = share(tasks_.task(i));
      if (!part || !tasks_.task(i).has_ended_well()) continue;
      auto &[local, remote] = stages[tasks_.task(i).stage];
      if (*part <= kNear) local.push_back(static_cast<double>(times_[i]));
      if (*part >= kFar) remote.push_back(static_cast<double>(times_[i]));
    }
    std::vector<int64_t> times = times_;
    double saved = 0;
    for (const uint32_t i : tasks_.order()) {
      const auto &[local, remote] = stages[tasks_.task(i).stage];
      const auto part = share(tasks_.task(i));
      if (!part || *part < kFar || local.size() < kMinOfBoth || remote.size() < kMinOfBoth) continue;
      const double factor = std::min(1.0, evidence::median(local) / evidence::median(remote));
      times[i] = std::llround(static_cast<double>(times_[i]) * factor);
      saved += static_cast<double>(times_[i] - times[i]);
    }
    return saved >= kWorthTelling * all_ ? std::optional(std::move(times)) : std::nullopt;
  }

  std::optional<std::vector<int64_t>> without_gc() const {
    std::vector<int64_t> times = times_;
    double saved = 0;
    for (const uint32_t i : tasks_.order()) {
      const int64_t gc = std::min(std::max<int64_t>(tasks_.task(i).gc_ms, 0) * 1'000'000, times_[i]);
      times[i] -= gc;
      saved += static_cast<double>(gc);
    }
    return saved >= kWorthTelling * all_ ? std::optional(std::move(times)) : std::nullopt;
  }

  const JobData &data_;
  const uint32_t job_;
  const JobTasks tasks_;
  const JobStages stages_;
  Slowness slowness_;
  std::vector<int64_t> times_;  // by task
  double all_ = 0;              // sum of times_
  int64_t base_ = 0;
  WhatIf found_;
};

}  // namespace

bool WhatIf::is_rough() const {
  return std::abs(replayed - observed) > kRough * observed;
}

Plan plan_of(const JobData &data, uint32_t job, const std::vector<int64_t> &times) {
  const JobTasks tasks(data, job);
  const JobStages stages(tasks);
  const Slowness slowness = slowness_of(tasks, stages, times);
  Plan plan;
  add_stages(plan, stages);
  std::map<ExecutorKey, uint32_t> executors;
  for (const uint32_t i : tasks.order()) executors[executor_of(tasks.task(i))];
  for (auto &[key, number] : executors) {
    number = static_cast<uint32_t>(plan.slower.size());
    std::vector<double> slower;
    for (uint32_t stage = 0; stage < stages.begins.size(); ++stage) slower.push_back(slowness.factor(key.first, stage));
    plan.slower.push_back(std::move(slower));
  }
  for (const uint32_t i : tasks.order()) {
    const uint32_t stage = stages.number_of_stage(tasks.task(i)), executor = executors.at(executor_of(tasks.task(i)));
    plan.tasks.push_back({stage, executor, std::llround(static_cast<double>(times[i]) / plan.slower[executor][stage])});
  }
  add_slots(plan, tasks, stages);
  return plan;
}

std::optional<WhatIf> what_if(const JobData &data, uint32_t job, double seconds) {
  if (seconds <= 0 || JobTasks(data, job).order().empty()) return std::nullopt;
  return Predictor(data, job, seconds).predict();
}

}  // namespace atalaya::jobs
