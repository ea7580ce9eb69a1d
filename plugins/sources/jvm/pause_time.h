// SPDX-License-Identifier: Apache-2.0
// The time of a JVM's pauses, by windows. The JVM adds a pause to its counters when it ends; here a pause counts in the windows in
// which it lasts, and a window has at most its own length of it. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "plugins/sources/jvm/jvm_counters.h"

namespace atalaya::jvm {

inline constexpr std::array kPauseCounters = {Counter::young_ticks, Counter::full_ticks, Counter::concurrent_ticks,
                                              Counter::safepoint_ticks, Counter::safepoint_sync_ticks};

// Time in pauses since the JVM's start that windows until a reading have, by counter. Absent: the JVM lacks the counter.
class PauseTime {
 public:
  std::optional<int64_t> &operator[](Counter counter) { return counted_ns_.at(place(counter)); }
  const std::optional<int64_t> &operator[](Counter counter) const { return counted_ns_.at(place(counter)); }

 private:
  static size_t place(Counter counter);

  std::array<std::optional<int64_t>, kPauseCounters.size()> counted_ns_;
};

// The JVM's clock. It updates a counter of its ticks some times per second, so the time of a tick is known to be not later than a
// reading that has it.
class JvmClock {
 public:
  // Counters that were read before this time (CLOCK_MONOTONIC).
  void see(const JvmCounters &shared, int64_t read_before_ns);
  // Time since this tick, maybe less; 0: unknown.
  int64_t since(int64_t tick, int64_t frequency, int64_t now_ns) const;

 private:
  std::optional<int64_t> start_ns_;  // of the JVM's ticks, maybe too late
};

// `before`: at the start of the window, of `passed_ns`; null: no window, all time until now counts before it.
PauseTime count_pauses(const JvmCounters &now, int64_t now_ns, const JvmClock &clock, const PauseTime *before, int64_t passed_ns);

}  // namespace atalaya::jvm
