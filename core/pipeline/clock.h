// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <algorithm>
#include <cstdint>

#include "core/base/now.h"

namespace atalaya::core {

// The window of the last call after `window`: components return the samples that they retain (ATALAYA_HOLDS).
atalaya_window last_call_after(atalaya_window window);

// Computes the windows of a pipeline. Each window lasts from the reading before it to its own reading, so that a rate times the
// duration is the growth of the counter, and windows neither overlap nor leave a gap. Callers pass the time.
//  - Readings are due at multiples of the interval in Unix time. One that is less than 1 % of the interval late counts as punctual:
//    its window ends at that multiple. Later readings are rounded down to 1 % of the interval.
//  - The first tick is due immediately. Its window is a baseline (gauges only) with the current time; rates start with the first
//    complete window.
//  - A clock step or a suspend restarts the clock with a baseline: a gap instead of a wrong rate.
//  - Missed windows are not repeated: the next window covers them (duration = several intervals), and they count as gaps.
//  - A tick that is so late that the next one follows within half an interval is merged with that one.
class WindowClock {
 public:
  explicit WindowClock(int64_t interval_ns) : interval_(interval_ns) {}

  // CLOCK_MONOTONIC time of the next tick.
  int64_t deadline() const { return deadline_; }

  struct Tick {
    bool collect = false;
    atalaya_window window{};
    int64_t gaps = 0;  // skipped windows; the next collected window covers them
  };
  // Call it after the deadline. With `paused` (back-pressure) the window is skipped, and the next one covers it.
  Tick tick(const ClockReading &now, bool paused);

 private:
  Tick baseline(const ClockReading &now);
  void next_after(int64_t end);
  int64_t rounding_ns() const { return std::max<int64_t>(interval_ / 100, 1); }

  int64_t interval_;
  int64_t deadline_ = 0;
  bool started_ = false;
  bool is_complete_ = false;  // the last collection was at the start of a window
  int64_t last_reading_ = 0;  // CLOCK_MONOTONIC time of the last collection, rounded as its window
  int64_t next_end_ = 0;
  int64_t real_offset_ = 0;  // realtime - monotonic without the noise of a reading: slewing changes both clocks
  int64_t last_offset_ = 0;  // real_offset_ at the last tick: a jump is a clock step
  int64_t boot_offset_ = 0;  // boottime - monotonic: it grows during a suspend
};

}  // namespace atalaya::core
