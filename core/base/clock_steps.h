// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "core/base/now.h"
#include "core/base/text/units.h"

namespace atalaya::core {

// The smallest difference (ns) between two clocks that counts as a step of one. NTP slews a clock by at most 500 ppm
// (adjtimex(2)); the threshold is twice that plus 0.3 s.
constexpr int64_t step_threshold(int64_t elapsed) {
  return 300'000'000 + elapsed / 1000;
}

// Finds steps of the wall clock between two readings. A suspend is not a step, because CLOCK_BOOTTIME counts it too.
class ClockSteps {
 public:
  // The length of the step since the last reading (ns), if the clock was stepped; negative if it was set back.
  std::optional<int64_t> check(const ClockReading &now) {
    const std::optional<ClockReading> last = std::exchange(last_, now);
    if (!last) return std::nullopt;
    const int64_t elapsed = now.boottime - last->boottime;
    const int64_t step = now.realtime - last->realtime - elapsed;
    if (std::llabs(step) <= step_threshold(elapsed)) return std::nullopt;
    return step;
  }

 private:
  std::optional<ClockReading> last_;
};

// "the wall clock was set back by 3 s"
inline std::string step_text(int64_t step_ns) {
  constexpr int64_t kMillisecond = 1'000'000;
  return std::string("the wall clock was set ") + (step_ns < 0 ? "back" : "ahead") + " by " +
         format_duration(std::llabs(step_ns) / kMillisecond * kMillisecond);
}

}  // namespace atalaya::core
