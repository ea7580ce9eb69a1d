// SPDX-License-Identifier: Apache-2.0
// Computes metrics from a JVM's counters. Pure.
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
  int64_t time_ns = 0;  // CLOCK_MONOTONIC, just before it
  PauseTime paused{};   // until this reading
};

using Number = std::variant<int64_t, double>;
// Absent: the JVM lacks the counter, it decreased since `before`, or there is no earlier reading.
std::optional<Number> number_of(const CounterMetric &metric, const Reading &now, const Reading *before);
// Collections of all kinds since the JVM's start.
int64_t collections(const JvmCounters &shared);
// The reading of a JVM at its start at this time: all counters 0.
Reading first_reading(const JvmCounters &now, int64_t time_ns);

}  // namespace atalaya::jvm
