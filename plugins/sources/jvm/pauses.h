// SPDX-License-Identifier: Apache-2.0
// The collections that ended between two readings of a JVM's counters: each stops its threads. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/sources/jvm/jvm_counters.h"

namespace atalaya::jvm {

struct Pauses {
  int64_t count = 0;
  std::optional<double> mean_ms;     // absent: no pause
  std::optional<double> longest_ms;  // absent: no pause, or the counters do not tell
  bool is_exact = true;              // of the longest; else at least so long
};

// Absent: the JVM lacks the counters, or one decreased.
std::optional<Pauses> pauses_between(const JvmCounters &before, const JvmCounters &now);

}  // namespace atalaya::jvm
