// SPDX-License-Identifier: Apache-2.0
// Attributes the pause time of a JVM to windows. The JVM adds a pause to its counters when the
// pause ends; here it counts in the windows in which it lasts. Invariant: the pause time of a window never exceeds the window's
// length. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "plugins/sources/jvm/jvm_counters.h"

namespace atalaya::jvm {

inline constexpr std::array kPauseCounters = {Counter::young_ticks, Counter::full_ticks, Counter::concurrent_ticks,
                                              Counter::safepoint_ticks, Counter::safepoint_sync_ticks};

// The pause time, by counter, from the JVM's start to a reading, as attributed to windows. Absent: the JVM lacks the counter.
class PauseTime {
 public:
  std::optional<int64_t> &operator[](Counter counter) { return counted_ns_.at(place(counter)); }
  const std::optional<int64_t> &operator[](Counter counter) const { return counted_ns_.at(place(counter)); }

 private:
  static size_t place(Counter counter);

  std::array<std::optional<int64_t>, kPauseCounters.size()> counted_ns_;
};

// Converts ticks of the JVM's clock to CLOCK_MONOTONIC. The JVM publishes its tick counter several times per second, so a published
// tick is not later than the reading that contains it.
class JvmClock {
 public:
  // Updates the conversion with counters that were read before this CLOCK_MONOTONIC time.
  void update(const JvmCounters &shared, int64_t read_before_ns);
  // Returns a lower bound of the time since this tick; 0: unknown.
  int64_t since(int64_t tick, int64_t frequency, int64_t now_ns) const;

 private:
  std::optional<int64_t> start_ns_;  // upper bound of the time of tick 0
};

// Returns the pause time at the end of a window. `before`: the pause time at the window's start; null: this is the first reading,
// and all pause time belongs to earlier windows. `passed_ns`: length of the window.
PauseTime count_pauses(const JvmCounters &now, int64_t now_ns, const JvmClock &clock, const PauseTime *before, int64_t passed_ns);

}  // namespace atalaya::jvm
