// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/schedule/what_if.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/schedule/job_replay.h"

namespace atalaya::jobs {
namespace {

constexpr size_t kMinOfBoth = 3;        // minimum local tasks and minimum remote tasks
constexpr double kWorthTelling = 0.02;  // minimum saving, as a share of the tasks' time
constexpr size_t kMaxNodes = 3;
constexpr double kFar = 0.5, kNear = 0.1;  // share of bytes over the network: minimum of remote tasks, maximum of local tasks

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
  Predictor(const JobTasks &tasks, double seconds) : job_(tasks, seconds), tasks_(tasks) {
    for (const uint32_t i : tasks.order()) all_ += static_cast<double>(recorded()[i]);
    found_.is_pinned = job_.is_pinned();
    found_.observed = seconds;
    found_.replayed = job_.replayed();
    found_.is_rough = job_.is_rough();
  }

  WhatIf predict() {
    add("one executor more", saved_by_executor());
    for (const uint32_t host : slow_hosts())
      add("node " + tasks_.data().name(host) + " as fast as the others", job_.saved_with_usual_speed(host));
    if (const auto times = without_remote()) add("no remote reads", job_.saved_with(*times));
    if (const auto times = without_gc()) add("no garbage collection", job_.saved_with(*times));
    return std::move(found_);
  }

 private:
  const std::vector<int64_t> &recorded() const { return job_.times(); }

  void add(std::string change, double saved) { found_.predictions.push_back({std::move(change), found_.observed - saved}); }

  // Tasks go to free slots, because no task was recorded on the new executor.
  double saved_by_executor() const {
    Plan now = job_.plan(recorded());
    now.is_pinned = false;
    Plan more = now;
    add_executor(more);
    return static_cast<double>(std::max<int64_t>(replay(now) - replay(more), 0)) / 1e9;
  }

  // The hosts in descending order of the time that their slow tasks lost.
  std::vector<uint32_t> slow_hosts() const {
    std::map<uint32_t, double> lost;
    for (const uint32_t i : tasks_.order()) {
      const Task &task = tasks_.task(i);
      const double factor = job_.slowness().factor(task.host, job_.stages().number_of_stage(task));
      if (factor > 1) lost[task.host] += static_cast<double>(recorded()[i]) * (1 - 1 / factor);
    }
    std::vector<uint32_t> hosts;
    for (const auto &[host, ns] : lost)
      if (host != 0 && ns >= kWorthTelling * all_) hosts.push_back(host);
    std::stable_sort(hosts.begin(), hosts.end(), [&](uint32_t a, uint32_t b) { return lost[a] > lost[b]; });
    hosts.resize(std::min(hosts.size(), kMaxNodes));
    return hosts;
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
      if (*part <= kNear) local.push_back(static_cast<double>(recorded()[i]));
      if (*part >= kFar) remote.push_back(static_cast<double>(recorded()[i]));
    }
    std::vector<int64_t> times = recorded();
    double saved = 0;
    for (const uint32_t i : tasks_.order()) {
      const auto &[local, remote] = stages[tasks_.task(i).stage];
      const auto part = share(tasks_.task(i));
      if (!part || *part < kFar || local.size() < kMinOfBoth || remote.size() < kMinOfBoth) continue;
      const double factor = std::min(1.0, evidence::median(local) / evidence::median(remote));
      times[i] = std::llround(static_cast<double>(recorded()[i]) * factor);
      saved += static_cast<double>(recorded()[i] - times[i]);
    }
    return saved >= kWorthTelling * all_ ? std::optional(std::move(times)) : std::nullopt;
  }

  std::optional<std::vector<int64_t>> without_gc() const {
    std::vector<int64_t> times = recorded();
    double saved = 0;
    for (const uint32_t i : tasks_.order()) {
      const int64_t gc = std::min(std::max<int64_t>(tasks_.task(i).gc_ms, 0) * 1'000'000, recorded()[i]);
      times[i] -= gc;
      saved += static_cast<double>(gc);
    }
    return saved >= kWorthTelling * all_ ? std::optional(std::move(times)) : std::nullopt;
  }

  const JobReplay job_;
  const JobTasks &tasks_;
  double all_ = 0;  // sum of the tasks' times
  WhatIf found_;
};

}  // namespace

std::optional<WhatIf> what_if(const JobData &data, uint32_t job, double seconds) {
  const JobTasks tasks(data, job);
  if (seconds <= 0 || tasks.order().empty()) return std::nullopt;
  return Predictor(tasks, seconds).predict();
}

}  // namespace atalaya::jobs
