// SPDX-License-Identifier: Apache-2.0
// Pauses by garbage collections that ended between two readings of a JVM's counters. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/sources/jvm/jvm_counters.h"

namespace atalaya::jvm {

struct Pauses {
  int64_t count = 0;
  std::optional<double> mean_ms;     // absent: no pause
  std::optional<double> longest_ms;  // absent: no pause, or not derivable from the counters
  bool is_exact = true;              // longest_ms is exact; otherwise it is a lower bound
};

// Returns the pauses; absent if the JVM lacks the counters or one decreased.
std::optional<Pauses> pauses_between(const JvmCounters &before, const JvmCounters &now);

}  // namespace atalaya::jvm
