// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/bottleneck/what_if.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "plugins/shared/analysis/bottleneck/map_phase_ends.h"
#include "plugins/shared/analysis/bottleneck/resource.h"
#include "plugins/shared/analysis/bottleneck/statistics.h"

namespace atalaya::bottleneck {
namespace {

constexpr size_t kMinToCompare = 3;  // tasks of an executor's host, and of the others
constexpr double kSameSpeed = 0.1;   // smaller differences of medians are noise
constexpr double kRough = 0.1;
constexpr double kWorthTelling = 0.02;  // of the tasks' time
constexpr size_t kMaxNodes = 3;
constexpr double kFar = 0.5, kNear = 0.1;  // remote and local tasks: part of their bytes that comes over the network

using Key = std::pair<uint32_t, uint32_t>;  // host, executor

// The tasks of a job that took time, in the order in which they started to work.
class Tasks {
 public:
  Tasks(const JobData &data, uint32_t job) : data_(data), ends_(data) {
    for (uint32_t i = 0; i < data.tasks.size(); ++i)
      if (data.tasks[i].job == job && data.tasks[i].work.duration_ns > 0) order_.push_back(i);
    std::sort(order_.begin(), order_.end(),
              [&](uint32_t a, uint32_t b) { return std::pair(begin(a), a) < std::pair(begin(b), b); });
  }
  const std::vector<uint32_t> &order() const { return order_; }
  const Task &of(uint32_t i) const { return data_.tasks[i]; }
  int64_t begin(uint32_t i) const { return ends_.begin(of(i)); }
  int64_t end(uint32_t i) const { return of(i).work.end_ns(); }
  Key key(uint32_t i) const { return {of(i).host, of(i).executor}; }
  // Without the time in which it waited for maps.
  int64_t fetch_time(const Phase &phase) const {
    const int64_t end_ns = phase.work.end_ns();
    return end_ns - ends_.begin(data_.tasks[phase.task], phase.work.start_ns, end_ns);
  }

 private:
  const JobData &data_;
  const MapPhaseEnds ends_;
  std::vector<uint32_t> order_;
};

struct Stages {
  std::map<uint32_t, uint32_t> numbers;  // by name, in order of their start
  std::vector<int64_t> begins, ends;
};

Stages stages_of(const Tasks &tasks) {
  Stages all;
  for (const uint32_t i : tasks.order()) {
    const auto [stage, is_new] = all.numbers.try_emplace(tasks.of(i).stage, static_cast<uint32_t>(all.begins.size()));
    if (is_new) {
      all.begins.push_back(tasks.begin(i));
      all.ends.push_back(tasks.end(i));
    }
    all.ends[stage->second] = std::max(all.ends[stage->second], tasks.end(i));
  }
  return all;
}

// A stage waits for those that ended before it started.
void add_stages(Plan &plan, const Stages &stages) {
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

// As many slots as tasks ran at once on an executor. The gap between two tasks of a slot is known while tasks of the stage wait.
class Slots {
 public:
  explicit Slots(const Stages &stages) : stages_(stages), gaps_(stages.begins.size()) {}

  void add(uint32_t executor, uint32_t stage, int64_t begin_ns, int64_t end_ns) {
    const int64_t ready = stages_.begins[stage];
    size_t best = slots_.size();
    for (size_t i = 0; i < slots_.size(); ++i)
      if (executors_[i] == executor && slots_[i] <= begin_ns && (best == slots_.size() || slots_[i] > slots_[best])) best = i;
    if (best == slots_.size()) {
      slots_.push_back(end_ns);
      executors_.push_back(executor);
      return;
    }
    if (slots_[best] > ready) gaps_[stage].push_back(static_cast<double>(begin_ns - slots_[best]));
    slots_[best] = end_ns;
  }

  void give(Plan &plan) const {
    plan.slots = executors_;
    std::sort(plan.slots.begin(), plan.slots.end());
    for (size_t i = 0; i < gaps_.size(); ++i)
      if (!gaps_[i].empty()) plan.stages[i].task_gap_ns = std::llround(median(gaps_[i]));
  }

 private:
  const Stages &stages_;
  std::vector<int64_t> slots_;       // free from then on
  std::vector<uint32_t> executors_;  // of each slot
  std::vector<std::vector<double>> gaps_;
};

// Of a host's tasks of a stage: their median time, in that of the other hosts' tasks.
struct Factor {
  double value = 1;
  size_t tasks = 0;
};
using Factors = std::map<std::pair<uint32_t, uint32_t>, Factor>;  // by host and stage

Factors factors_of(const Tasks &tasks, const Stages &stages, const std::vector<int64_t> &times) {
  std::map<uint32_t, std::map<uint32_t, std::vector<double>>> by_stage;
  for (const uint32_t i : tasks.order())
    if (tasks.of(i).has_ended_well())
      by_stage[stages.numbers.at(tasks.of(i).stage)][tasks.of(i).host].push_back(static_cast<double>(times[i]));
  Factors found;
  for (const auto &[stage, hosts] : by_stage)
    for (const auto &[host, own] : hosts) {
      std::vector<double> others;
      for (const auto &[other, of_other] : hosts)
        if (other != host) others.insert(others.end(), of_other.begin(), of_other.end());
      const double usual = others.size() < kMinToCompare ? 0 : median(others);
      if (usual > 0) found[{host, stage}] = {median(own) / usual, own.size()};
    }
  return found;
}

// The factors that are no noise. Where a host has few tasks of a stage, it is as slow as in its other stages, and at most as those
// few.
std::map<std::pair<uint32_t, uint32_t>, double> slowness(const Tasks &tasks, const Stages &stages,
                                                         const std::vector<int64_t> &times) {
  const Factors factors = factors_of(tasks, stages, times);
  std::map<uint32_t, std::vector<double>> of_host;
  for (const auto &[place, factor] : factors)
    if (factor.tasks >= kMinToCompare) of_host[place.first].push_back(factor.value);
  std::map<std::pair<uint32_t, uint32_t>, double> found;
  for (const auto &[place, factor] : factors) {
    double value = factor.value;
    if (factor.tasks < kMinToCompare) {
      const auto usual = of_host.find(place.first);
      if (usual == of_host.end() || value <= 1) continue;
      value = std::min(value, median(usual->second));
    }
    if (value > 0 && std::abs(value - 1) > kSameSpeed) found[place] = value;
  }
  return found;
}

int64_t length_with(Plan plan, bool is_pinned) {
  plan.is_pinned = is_pinned;
  return replay(plan);
}

// An executor like the others, with the usual number of slots.
void add_executor(Plan &plan) {
  std::map<uint32_t, double> counts;
  for (const uint32_t executor : plan.slots) ++counts[executor];
  std::vector<double> sizes;
  for (const auto &[executor, count] : counts) sizes.push_back(count);
  const auto executor = static_cast<uint32_t>(plan.slower.size());
  plan.slower.emplace_back(plan.stages.size(), 1.0);
  plan.slots.insert(plan.slots.end(), static_cast<size_t>(std::max(1.0, std::floor(median(sizes)))), executor);
}

class Predictor {
 public:
  Predictor(const JobData &data, uint32_t job, double seconds)
      : data_(data), job_(job), tasks_(data, job), times_(data.tasks.size()) {
    for (const uint32_t i : tasks_.order()) {
      times_[i] = tasks_.end(i) - tasks_.begin(i);
      all_ += static_cast<double>(times_[i]);
    }
    const Plan plan = plan_of(data, job, times_);
    const int64_t pinned = length_with(plan, true), balanced = length_with(plan, false);
    const double tasks_seconds = static_cast<double>(last_end() - tasks_.begin(tasks_.order().front())) / 1e9;
    const auto miss = [&](int64_t ns) { return std::abs(static_cast<double>(ns) / 1e9 - tasks_seconds); };
    found_.is_pinned = miss(pinned) < miss(balanced);
    base_ = found_.is_pinned ? pinned : balanced;
    found_.observed = seconds;
    // Time before the first task and after the last one stays.
    found_.replayed = seconds - tasks_seconds + static_cast<double>(base_) / 1e9;
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

  void add(std::string change, int64_t difference_ns) {
    found_.predictions.push_back({std::move(change), found_.observed + static_cast<double>(difference_ns) / 1e9});
  }

  int64_t with_times(const std::vector<int64_t> &times) const {
    return length_with(plan_of(data_, job_, times), found_.is_pinned) - base_;
  }

  // Hosts whose tasks lost most by being slower, most first.
  std::vector<uint32_t> slow_hosts() const {
    const Stages stages = stages_of(tasks_);
    const auto factors = slowness(tasks_, stages, times_);
    std::map<uint32_t, double> lost;
    for (const uint32_t i : tasks_.order()) {
      const auto factor = factors.find({tasks_.of(i).host, stages.numbers.at(tasks_.of(i).stage)});
      if (factor != factors.end() && factor->second > 1)
        lost[tasks_.of(i).host] += static_cast<double>(times_[i]) * (1 - 1 / factor->second);
    }
    std::vector<uint32_t> hosts;
    for (const auto &[host, ns] : lost)
      if (host != 0 && ns >= kWorthTelling * all_) hosts.push_back(host);
    std::stable_sort(hosts.begin(), hosts.end(), [&](uint32_t a, uint32_t b) { return lost[a] > lost[b]; });
    hosts.resize(std::min(hosts.size(), kMaxNodes));
    return hosts;
  }

  // Tasks of other hosts fetch from all hosts at once, so they wait for the slowest one. It takes as many times longer to answer as
  // its tasks take in the stage in which it is slowest: where tasks fetch, those of all hosts wait for it.
  std::vector<int64_t> with_usual_answers(uint32_t host) const {
    double slower = 1;
    for (const auto &[place, factor] : slowness(tasks_, stages_of(tasks_), times_))
      if (place.first == host) slower = std::max(slower, factor);
    const double saved = 1 - 1 / slower;
    std::vector<int64_t> times = times_;
    for (const Phase &phase : data_.phases) {
      const Task &task = data_.tasks[phase.task];
      const bool fetches = phase.work.duration_ns > 0 && needs_of(data_.name(phase.phase)).network;
      if (task.job != job_ || task.host == host || !fetches) continue;
      const int64_t fetch = std::min({tasks_.fetch_time(phase), std::max<int64_t>(phase.busy_ns, 0), times[phase.task]});
      times[phase.task] -= std::llround(saved * static_cast<double>(fetch));
    }
    return times;
  }

  int64_t with_usual_speed(uint32_t host) const {
    Plan plan = plan_of(data_, job_, with_usual_answers(host));
    std::set<Key> keys;
    for (const uint32_t i : tasks_.order()) keys.insert(tasks_.key(i));
    uint32_t executor = 0;
    for (const Key &key : keys) {
      if (key.first == host)
        for (double &factor : plan.slower[executor]) factor = std::min(factor, 1.0);
      ++executor;
    }
    return length_with(std::move(plan), found_.is_pinned) - base_;
  }

  // Remote tasks take the median time of local ones of their stage, if both are known.
  std::optional<std::vector<int64_t>> without_remote() const {
    std::map<uint32_t, std::pair<std::vector<double>, std::vector<double>>> stages;  // local, remote
    const auto share = [](const Task &task) {
      return task.remote_of > 0 && task.work.remote != kUnknown
                 ? std::optional(static_cast<double>(task.work.remote) / static_cast<double>(task.remote_of))
                 : std::nullopt;
    };
    for (const uint32_t i : tasks_.order()) {
      const auto part = share(tasks_.of(i));
      if (!part || !tasks_.of(i).has_ended_well()) continue;
      auto &[local, remote] = stages[tasks_.of(i).stage];
      if (*part <= kNear) local.push_back(static_cast<double>(times_[i]));
      if (*part >= kFar) remote.push_back(static_cast<double>(times_[i]));
    }
    std::vector<int64_t> times = times_;
    double saved = 0;
    for (const uint32_t i : tasks_.order()) {
      const auto &[local, remote] = stages[tasks_.of(i).stage];
      const auto part = share(tasks_.of(i));
      if (!part || *part < kFar || local.size() < kMinToCompare || remote.size() < kMinToCompare) continue;
      const double factor = std::min(1.0, median(local) / median(remote));
      times[i] = std::llround(static_cast<double>(times_[i]) * factor);
      saved += static_cast<double>(times_[i] - times[i]);
    }
    return saved >= kWorthTelling * all_ ? std::optional(std::move(times)) : std::nullopt;
  }

  std::optional<std::vector<int64_t>> without_gc() const {
    std::vector<int64_t> times = times_;
    double saved = 0;
    for (const uint32_t i : tasks_.order()) {
      const int64_t gc = std::min(std::max<int64_t>(tasks_.of(i).gc_ms, 0) * 1'000'000, times_[i]);
      times[i] -= gc;
      saved += static_cast<double>(gc);
    }
    return saved >= kWorthTelling * all_ ? std::optional(std::move(times)) : std::nullopt;
  }

  const JobData &data_;
  const uint32_t job_;
  const Tasks tasks_;
  std::vector<int64_t> times_;  // by task
  double all_ = 0;              // the sum of them
  int64_t base_ = 0;
  WhatIf found_;
};

}  // namespace

bool WhatIf::is_rough() const {
  return std::abs(replayed - observed) > kRough * observed;
}

Plan plan_of(const JobData &data, uint32_t job, const std::vector<int64_t> &times) {
  const Tasks tasks(data, job);
  const Stages stages = stages_of(tasks);
  const auto factors = slowness(tasks, stages, times);
  Plan plan;
  add_stages(plan, stages);
  std::map<Key, uint32_t> executors;
  for (const uint32_t i : tasks.order()) executors[tasks.key(i)];
  for (auto &[key, number] : executors) {
    number = static_cast<uint32_t>(plan.slower.size());
    std::vector<double> slower(stages.begins.size(), 1);
    for (uint32_t stage = 0; stage < slower.size(); ++stage)
      if (const auto factor = factors.find({key.first, stage}); factor != factors.end()) slower[stage] = factor->second;
    plan.slower.push_back(std::move(slower));
  }
  Slots slots(stages);
  for (const uint32_t i : tasks.order()) {
    const uint32_t stage = stages.numbers.at(tasks.of(i).stage), executor = executors.at(tasks.key(i));
    plan.tasks.push_back({stage, executor, std::llround(static_cast<double>(times[i]) / plan.slower[executor][stage])});
    slots.add(executor, stage, tasks.begin(i), tasks.end(i));
  }
  slots.give(plan);
  return plan;
}

std::optional<WhatIf> what_if(const JobData &data, uint32_t job, double seconds) {
  if (seconds <= 0 || Tasks(data, job).order().empty()) return std::nullopt;
  return Predictor(data, job, seconds).predict();
}

}  // namespace atalaya::bottleneck
