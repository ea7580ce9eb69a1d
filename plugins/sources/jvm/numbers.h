// SPDX-License-Identifier: Apache-2.0
// A JVM's counters as what is told of it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "plugins/sources/jvm/jvm_metrics.h"
#include "plugins/sources/jvm/shared.h"

namespace atalaya::jvm {

struct Reading {
  Shared shared;
  int64_t time_ns = 0;  // CLOCK_MONOTONIC
};

using Number = std::variant<int64_t, double>;
// Absent: the JVM does not count it, has counted down since `before`, or there is no reading before.
std::optional<Number> number_of(const Shown &shown, const Reading &now, const Reading *before);
// Collections of all kinds since the JVM's start.
int64_t collections(const Shared &shared);
// What a JVM that began at this time said then.
Reading first_reading(const Shared &now, int64_t time_ns);

}  // namespace atalaya::jvm
