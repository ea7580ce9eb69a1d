// SPDX-License-Identifier: Apache-2.0
// Computes metric values from two readings of a JVM's counters. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "plugins/sources/jvm/jvm_counters.h"
#include "plugins/sources/jvm/jvm_metrics.h"
#include "plugins/sources/jvm/pause_time.h"

namespace atalaya::jvm {

struct Reading {
  JvmCounters shared;
  int64_t time_ns = 0;  // CLOCK_MONOTONIC time just before the reading, then that of the window
  PauseTime paused{};   // pause time until this reading
};

using Number = std::variant<int64_t, double>;
// Returns the metric's value; absent if the JVM lacks the counter, the counter decreased since `before`, or the metric needs
// `before` and it is null.
std::optional<Number> number_of(const CounterMetric &metric, const Reading &now, const Reading *before);
// Returns the number of collections of all collectors since the JVM's start.
int64_t collections(const JvmCounters &shared);
// Returns the reading of a JVM at its start: the counters of `now`, all 0.
Reading first_reading(const JvmCounters &now, int64_t time_ns);

}  // namespace atalaya::jvm
