// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/schedule/schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace atalaya::bottleneck {
namespace {

// The same job, moment by moment, without events and queues.
int64_t moment_by_moment(const jobs::Plan &plan) {
  const size_t stages = plan.stages.size();
  std::vector<int64_t> opens(stages, -1), left(stages, 0), busy_until(plan.slots.size(), 0), ended_at(stages, 0);
  std::vector<int> runs(plan.slots.size(), -1);  // the stage of its task
  std::vector<bool> is_taken(plan.tasks.size(), false);
  for (const jobs::PlannedTask &task : plan.tasks) ++left[task.stage];
  int64_t last = 0;
  for (int64_t now = 0;; ++now) {
    for (size_t slot = 0; slot < runs.size(); ++slot)
      if (runs[slot] >= 0 && busy_until[slot] == now) {
        const auto stage = static_cast<size_t>(runs[slot]);
        runs[slot] = -1;
        last = now;
        if (--left[stage] == 0) ended_at[stage] = now;
      }
    for (size_t stage = 0; stage < stages; ++stage) {
      int64_t ready = 0;
      bool is_ready = true;
      for (const uint32_t parent : plan.stages[stage].parents) {
        is_ready = is_ready && left[parent] == 0;
        ready = std::max(ready, ended_at[parent]);
      }
      if (is_ready) opens[stage] = ready + plan.stages[stage].gap_ns;
    }
    for (size_t slot = 0; slot < runs.size(); ++slot) {
      for (size_t i = 0; i < plan.tasks.size() && runs[slot] < 0; ++i) {
        const jobs::PlannedTask &task = plan.tasks[i];
        const bool is_open = opens[task.stage] >= 0 && opens[task.stage] <= now;
        if (is_taken[i] || !is_open || (plan.is_pinned && task.executor != plan.slots[slot])) continue;
        is_taken[i] = true;
        runs[slot] = static_cast<int>(task.stage);
        const double factor = plan.slower[plan.slots[slot]][task.stage];
        busy_until[slot] =
            now + plan.stages[task.stage].task_gap_ns + static_cast<int64_t>(static_cast<double>(task.ns) * factor + 0.5);
      }
    }
    if (std::all_of(is_taken.begin(), is_taken.end(), [](bool taken) { return taken; }) &&
        std::all_of(runs.begin(), runs.end(), [](int stage) { return stage < 0; }))
      return last;
  }
}

jobs::Plan random_plan(std::mt19937 &dice, bool is_pinned) {
  jobs::Plan plan;
  plan.is_pinned = is_pinned;
  const uint32_t stages = 1 + dice() % 4, executors = 1 + dice() % 4;
  for (uint32_t i = 0; i < stages; ++i) {
    jobs::PlannedStage stage{{}, static_cast<int64_t>(dice() % 5), static_cast<int64_t>(dice() % 3)};
    for (uint32_t parent = 0; parent < i; ++parent)
      if (dice() % 2 == 0) stage.parents.push_back(parent);
    plan.stages.push_back(stage);
  }
  for (uint32_t i = 0; i < executors; ++i) {
    std::vector<double> slower;
    for (uint32_t stage = 0; stage < stages; ++stage) slower.push_back(dice() % 3 == 0 ? 2 : 1);
    plan.slower.push_back(slower);
    plan.slots.insert(plan.slots.end(), 1 + dice() % 3, i);
  }
  for (uint32_t stage = 0; stage < stages; ++stage)
    for (uint32_t i = 0; i < 1 + dice() % 12; ++i)
      plan.tasks.push_back({stage, static_cast<uint32_t>(dice() % executors), static_cast<int64_t>(1 + dice() % 30)});
  return plan;
}

}  // namespace

TEST_CASE("a replay takes as long as the job moment by moment") {
  std::mt19937 dice(11);  // NOLINT(cert-msc51-cpp): the same in each run
  for (int run = 0; run < 500; ++run) {
    const jobs::Plan plan = random_plan(dice, run % 2 == 0);
    CHECK(replay(plan) == moment_by_moment(plan));
  }
}

TEST_CASE("a stage without tasks holds nobody up, and no task is no time") {
  jobs::Plan plan;
  plan.stages = {{{}, 5, 0}, {{0}, 7, 0}};
  plan.slower = {{1, 1}};
  plan.slots = {0};
  CHECK(replay(plan) == 0);
  plan.tasks = {{1, 0, 10}};
  CHECK(replay(plan) == 17);
}

}  // namespace atalaya::bottleneck
