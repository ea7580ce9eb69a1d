// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/findings/slow_tasks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plugins/shared/analysis/evidence/statistics.h"

namespace atalaya::jobs {
namespace {

constexpr double kMinSlowdown = 1.5;                  // minimum ratio to the time at the median speed
constexpr evidence::Prior kHealthyTimes = {0.25, 4};  // the times of equal tasks differ by about a quarter
constexpr double kMaxSlow = 0.4;                      // maximum share of the stage's tasks
constexpr size_t kMinForSlow = 5;                     // tasks

double seconds_of(const std::vector<const Entry *> &entries) {
  std::vector<double> times;
  for (const Entry *entry : entries) times.push_back(static_cast<double>(entry->time_ns) / 1e9);
  return evidence::median(std::move(times));
}

std::vector<uint32_t> numbers_of(const std::vector<const Entry *> &entries) {
  std::vector<uint32_t> tasks;
  for (const Entry *entry : entries) tasks.push_back(entry->task);
  return tasks;
}

}  // namespace

SlowTasks slow_tasks(const Group &group) {
  std::vector<const Entry *> by_speed, slow;
  for (const Entry &entry : group.entries) by_speed.push_back(&entry);
  std::sort(by_speed.begin(), by_speed.end(), [](const Entry *a, const Entry *b) { return a->speed < b->speed; });
  const size_t count = by_speed.size(), quarter = count / 4;
  if (count < kMinForSlow) return {};
  std::vector<double> logs;
  for (const Entry *entry : by_speed) logs.push_back(std::log(entry->speed));
  const std::vector<double> chances =
      evidence::chances_below(logs, static_cast<size_t>(kMaxSlow * static_cast<double>(count)), kHealthyTimes);
  for (size_t i = 0; i < count; ++i)
    if (evidence::is_beyond_chance(chances[i], count) && by_speed[i]->speed * kMinSlowdown <= group.speed)
      slow.push_back(by_speed[i]);
  std::vector<const Entry *> middle;
  for (size_t i = std::max(quarter, slow.size()); i < std::max(count - quarter, slow.size() + 1); ++i)
    middle.push_back(by_speed[i]);
  return {numbers_of(slow), numbers_of(middle), seconds_of(slow), seconds_of(middle)};
}

}  // namespace atalaya::jobs
