// SPDX-License-Identifier: Apache-2.0
// Sums the counts of a window over all CPUs or threads of an entity.
//
// If a CPU has fewer counters than events, the kernel multiplexes the groups: a group is enabled all the time but counts only for a
// part of it (perf_event_open(2), time_enabled and time_running). Its counts are scaled by enabled / running: an estimate, whose
// quality `running` reports.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "plugins/sources/counters/counters_metrics.h"
#include "plugins/sources/counters/events.h"

namespace atalaya::counters {

// The difference between two readings of one event on one CPU or thread.
struct Growth {
  uint64_t count = 0, enabled_ns = 0, running_ns = 0;
};

class Tally {
 public:
  void add(size_t slot, const Growth &growth);
  // Marks the sum of an event as unknown: one of its counters could not be read, or was reset.
  void mark_unknown(size_t slot) { sums_[slot].lost = true; }

  // Returns the scaled count; absent if the event is not counted, or never ran while enabled.
  std::optional<double> count(size_t slot) const;
  // Returns running / enabled of the group with the smallest ratio, in per cent; absent if no group was enabled.
  std::optional<double> running() const;

 private:
  struct Sum {
    double count = 0;  // sum over CPUs or threads on which the event ran, each scaled by enabled / running
    uint64_t enabled_ns = 0, running_ns = 0;
    uint64_t counted_ns = 0;  // enabled time of the CPUs or threads on which it ran
    bool known = false, lost = false;
  };
  std::array<Sum, kSlots> sums_{};
};

using Values = std::array<std::optional<double>, kValues>;
Values values_of(const Tally &tally, double seconds);

}  // namespace atalaya::counters
