// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/bottleneck/slow_tasks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace atalaya::bottleneck {
namespace {

// Tasks with these times, in seconds, and equal work.
Group group_of(const std::vector<double> &seconds) {
  Group group;
  group.by_time = true;
  std::vector<double> speeds;
  for (const double time : seconds) {
    group.entries.push_back({static_cast<uint32_t>(group.entries.size()), Grade::medium, Wave::first, 0,
                             static_cast<int64_t>(time * 1e9), 0, 1 / time});
    speeds.push_back(1 / time);
  }
  std::sort(speeds.begin(), speeds.end());
  group.speed = speeds[speeds.size() / 2];
  return group;
}

}  // namespace

TEST_CASE("planted slow tasks are found, and compared with the middle half") {
  std::vector<double> seconds;
  for (int i = 0; i < 16; ++i) seconds.push_back(i % 8 == 3 ? 2.1 : 0.6 + 0.01 * i);
  const SlowTasks found = slow_tasks(group_of(seconds));
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
