// SPDX-License-Identifier: Apache-2.0
// A list of collections is the oracle of tests; the counters follow from it as in HotSpot: the number and the entry when one
// begins, the exit and the time when it ends.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "plugins/sources/jvm/jvm_counters.h"

namespace atalaya::jvm {

inline constexpr int64_t kFrequency = 1'000'000'000, kMs = 1'000'000;

struct Collection {
  int collector = 0;  // 0 young, 1 full, 2 concurrent
  int64_t begin = 0, end = 0;
};

inline JvmCounters counters_at(const std::vector<Collection> &all, int64_t time) {
  static constexpr std::array<std::array<Counter, 4>, 3> kOf = {{
      {Counter::young_count, Counter::young_ticks, Counter::young_entry, Counter::young_exit},
      {Counter::full_count, Counter::full_ticks, Counter::full_entry, Counter::full_exit},
      {Counter::concurrent_count, Counter::concurrent_ticks, Counter::concurrent_entry, Counter::concurrent_exit},
  }};
  JvmCounters made;
  const auto at = [&made](Counter counter) -> std::optional<int64_t> & { return made.numbers[static_cast<size_t>(counter)]; };
  at(Counter::frequency) = kFrequency;
  for (const auto &counters : kOf)
    for (const Counter counter : counters) at(counter) = 0;
  for (const Collection &one : all) {
    const auto &of = kOf.at(static_cast<size_t>(one.collector));
    if (one.begin <= time) ++*at(of[0]);
    if (one.begin <= time) at(of[2]) = one.begin;
    if (one.end <= time) *at(of[1]) += one.end - one.begin;
    if (one.end <= time) at(of[3]) = one.end;
  }
  return made;
}

// One after the other, until the time limit; most are short, one in ten takes up to `longest`.
inline std::vector<Collection> random_collections(const std::function<int64_t(int64_t)> &draw, int64_t limit, int64_t longest_ms) {
  std::vector<Collection> all;
  const int64_t gap = 1 + draw(900);
  for (int64_t time = kMs; time < limit;) {
    const int64_t length = (1 + draw(draw(10) == 0 ? longest_ms : 20)) * kMs;
    all.push_back({static_cast<int>(draw(3)), time, time + length});
    time += length + (1 + draw(gap)) * kMs;
  }
  return all;
}

}  // namespace atalaya::jvm
