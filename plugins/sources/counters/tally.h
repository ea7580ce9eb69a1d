// SPDX-License-Identifier: Apache-2.0
// What was counted in a window, on all CPUs or in all threads of one entity, and the numbers that are told of it.
//
// Where a CPU has fewer counters than there are events, groups take turns: one was enabled for some time and counted for a part
// of it. What it counted is taken for the whole time: an estimate, whose share `running` says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "plugins/sources/counters/counters_metrics.h"
#include "plugins/sources/counters/events.h"

namespace atalaya::counters {

// How far one event came in one place.
struct Growth {
  uint64_t count = 0, enabled_ns = 0, running_ns = 0;
};

class Tally {
 public:
  void add(size_t slot, const Growth &growth);
  // In some place it could not be read, or began anew: the whole is not known.
  void lose(size_t slot) { sums_[slot].lost = true; }

  // Absent if the event is counted nowhere, or was due somewhere and nowhere got a turn.
  std::optional<double> count(size_t slot) const;
  // Of the group that got the smallest share of its time, in per cent; absent without one that was due.
  std::optional<double> running() const;

 private:
  struct Sum {
    double count = 0;  // of the places where it got a turn, each scaled to its time
    uint64_t enabled_ns = 0, running_ns = 0;
    uint64_t counted_ns = 0;  // the part of enabled_ns of those places
    bool known = false, lost = false;
  };
  std::array<Sum, kSlots> sums_{};
};

using Values = std::array<std::optional<double>, kValues>;
Values values_of(const Tally &tally, double seconds);

}  // namespace atalaya::counters
