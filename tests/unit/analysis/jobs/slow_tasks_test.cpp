// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/findings/slow_tasks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>
#include <vector>

namespace atalaya::bottleneck {
namespace {

// Tasks with these times, in seconds, and equal work.
jobs::Group group_of(const std::vector<double> &seconds) {
  jobs::Group group;
  group.by_time = true;
  std::vector<double> speeds;
  for (const double time : seconds) {
    group.entries.push_back({static_cast<uint32_t>(group.entries.size()), jobs::Grade::medium, jobs::Wave::first, 0,
                             static_cast<int64_t>(time * 1e9), 0, 1 / time});
    speeds.push_back(1 / time);
  }
  std::sort(speeds.begin(), speeds.end());
  group.speed = speeds[speeds.size() / 2];
  return group;
}

struct StageTask {
  double bytes, seconds;
  bool is_planted;
};

// Tasks with unequal work, whose time follows it, some of them planted as 2 to 4 times slower.
std::vector<StageTask> stage_of(std::mt19937 &dice) {
  std::lognormal_distribution<double> work(0, 0.5), noise(0, 0.12);
  std::uniform_real_distribution<double> slowdown(2, 4), part(0, 1);
  std::vector<StageTask> tasks(40 + dice() % 80);
  for (StageTask &task : tasks) {
    task = {1e6 * work(dice), 0, part(dice) < 0.05};
    task.seconds = task.bytes / 1e5 * noise(dice) * (task.is_planted ? slowdown(dice) : 1);
  }
  return tasks;
}

std::set<uint32_t> by_expected_time(const std::vector<StageTask> &tasks) {
  jobs::Group group;
  std::vector<double> speeds;
  for (const StageTask &task : tasks) {
    const double speed = task.bytes / 1024 / task.seconds;
    group.entries.push_back({static_cast<uint32_t>(group.entries.size()), jobs::Grade::medium, jobs::Wave::first, 0,
                             static_cast<int64_t>(task.seconds * 1e9), static_cast<int64_t>(task.bytes), speed});
    speeds.push_back(speed);
  }
  std::sort(speeds.begin(), speeds.end());
  group.speed = speeds[speeds.size() / 2];
  const jobs::SlowTasks found = slow_tasks(group);
  return {found.slow.begin(), found.slow.end()};
}

// Spark's spark.speculation: tasks that run for more than 1.5 times the median once 75 % of the tasks have ended.
std::set<uint32_t> by_framework(const std::vector<StageTask> &tasks) {
  std::vector<double> times;
  for (const StageTask &task : tasks) times.push_back(task.seconds);
  std::sort(times.begin(), times.end());
  const double maximum =
      std::max(1.5 * times[times.size() * 3 / 8], times[times.size() * 3 / 4]);  // the median of those that ended
  std::set<uint32_t> slow;
  for (uint32_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].seconds > maximum) slow.insert(i);
  return slow;
}

struct Rates {
  double healthy = 0, planted = 0, accused = 0, missed = 0;
  double false_positives() const { return accused / healthy; }
  double false_negatives() const { return missed / planted; }
  void add(const std::vector<StageTask> &tasks, const std::set<uint32_t> &slow) {
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      (tasks[i].is_planted ? planted : healthy) += 1;
      if (tasks[i].is_planted != slow.contains(i)) (tasks[i].is_planted ? missed : accused) += 1;
    }
  }
};

}  // namespace

TEST_CASE("stragglers by the time that their input explains, beside the framework's own rule") {
  std::mt19937 dice(5);  // NOLINT(cert-msc51-cpp): the same in each run
  Rates ours, framework;
  for (int stage = 0; stage < 200; ++stage) {
    const std::vector<StageTask> tasks = stage_of(dice);
    ours.add(tasks, by_expected_time(tasks));
    framework.add(tasks, by_framework(tasks));
  }
  std::printf("stragglers, FPR/FNR: by input %.3f/%.3f, by the framework %.3f/%.3f\n", ours.false_positives(),
              ours.false_negatives(), framework.false_positives(), framework.false_negatives());
  CHECK(ours.false_positives() <= (1 - 0.58) * framework.false_positives());
  CHECK(ours.false_negatives() <= (1 - 0.80) * framework.false_negatives());
}

TEST_CASE("planted slow tasks are found, and compared with the middle half") {
  std::vector<double> seconds;
  for (int i = 0; i < 16; ++i) seconds.push_back(i % 8 == 3 ? 2.1 : 0.6 + 0.01 * i);
  const jobs::SlowTasks found = slow_tasks(group_of(seconds));
  CHECK(std::set<uint32_t>(found.slow.begin(), found.slow.end()) == std::set<uint32_t>{3, 11});
  CHECK(found.slow_seconds == doctest::Approx(2.1));
  CHECK(found.median.size() == 8);
  for (const uint32_t task : found.median) CHECK(seconds[task] < 0.8);
}

TEST_CASE("healthy stages have no slow task, few tasks neither") {
  std::mt19937 dice(3);  // NOLINT(cert-msc51-cpp): the same in each run
  int with_slow = 0;
  for (int run = 0; run < 400; ++run) {
    std::lognormal_distribution<double> times(0, 0.2);
    std::vector<double> seconds(8 + dice() % 60);
    for (double &time : seconds) time = times(dice);
    with_slow += slow_tasks(group_of(seconds)).slow.empty() ? 0 : 1;
  }
  CHECK(with_slow <= 12);  // 1 % by chance each
  CHECK(slow_tasks(group_of({1, 1, 1, 9})).slow.empty());
  CHECK(slow_tasks(group_of({1, 1, 1, 1, 1, 1})).slow.empty());
}

}  // namespace atalaya::bottleneck
