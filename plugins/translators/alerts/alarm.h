// SPDX-License-Identifier: Apache-2.0
// The state machine of one alert: quiet -> pending (the condition is true) -> firing (it was true for `lasts`) -> quiet (it was
// false for `keep`).
#pragma once

#include <cstdint>

#include "plugins/translators/alerts/gaps.h"
#include "plugins/translators/alerts/rules.h"

namespace atalaya::alerts {

enum class State : uint8_t { quiet, pending, firing };
enum class Event : uint8_t { none, opened, closed };

struct Alarm {
  State state = State::quiet;
  int64_t since_ns = 0;  // in pending and firing: time at which the condition became true
  int64_t calm_ns = 0;   // in firing: time at which the condition became false; 0: it is true
  // Applies one comparison. `beyond`: the condition is true; `clear`: a firing alert may end. The times of the rule
  // are of collected time. After the event `closed`, calm_ns is
  // the end of the alert.
  Event step(const Rule &rule, bool beyond, bool clear, int64_t time_ns, const Gaps &gaps);
};

}  // namespace atalaya::alerts
