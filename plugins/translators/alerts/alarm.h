// SPDX-License-Identifier: Apache-2.0
// The state of one alert: quiet, pending, firing.
#pragma once

#include <cstdint>

#include "plugins/translators/alerts/rules.h"

namespace atalaya::alerts {

enum class State : uint8_t { quiet, pending, firing };
enum class Event : uint8_t { none, opened, closed };

struct Alarm {
  State state = State::quiet;
  int64_t since_ns = 0;  // pending, firing: the start of the condition
  int64_t calm_ns = 0;   // firing: the time since which the condition is false; 0: it is true

  // `beyond`: the condition is true; `clear`: a firing alert may end. `end_ns` of a closed alert is calm_ns.
  Event step(const Rule &rule, bool beyond, bool clear, int64_t time_ns);
};

}  // namespace atalaya::alerts
