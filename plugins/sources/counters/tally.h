// SPDX-License-Identifier: Apache-2.0
// The counts of a window, over all CPUs or threads of an entity, and the metrics derived from them.
//
// When a CPU has fewer counters than events, groups are multiplexed: a group is enabled for some time and counts for a part of it.
// Its counts are scaled to the whole time: an estimate, whose quality `running` shows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "plugins/sources/counters/counters_metrics.h"
#include "plugins/sources/counters/events.h"

namespace atalaya::counters {

// The growth of one event on one CPU or thread.
struct Growth {
  uint64_t count = 0, enabled_ns = 0, running_ns = 0;
};

class Tally {
 public:
  void add(size_t slot, const Growth &growth);
  // One of its counters could not be read, or restarted: the sum is unknown.
  void lose(size_t slot) { sums_[slot].lost = true; }

  // Absent if the event is not counted, or was enabled but never ran.
  std::optional<double> count(size_t slot) const;
  // The running share of the least active group, in per cent; absent if no group was enabled.
  std::optional<double> running() const;

 private:
  struct Sum {
    double count = 0;  // sum over CPUs or threads on which it ran, each scaled to its time
    uint64_t enabled_ns = 0, running_ns = 0;
    uint64_t counted_ns = 0;  // the part of enabled_ns of those
    bool known = false, lost = false;
  };
  std::array<Sum, kSlots> sums_{};
};

using Values = std::array<std::optional<double>, kValues>;
Values values_of(const Tally &tally, double seconds);

}  // namespace atalaya::counters
