// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>

#include "core/base/now.h"

namespace atalaya::core {

// The last call for the samples that a component holds, after its last window.
atalaya_window last_call_after(atalaya_window window);

// When a pipeline's windows end, and the time that each covers. Windows are aligned to multiples of the interval in Unix time; how
// much time went by is measured by CLOCK_MONOTONIC. Pure: callers pass the time.
//  - The first tick is due at once and is a baseline (gauges only), stamped with the moment. Rates begin with the first whole
//  window.
//  - A clock step or a suspend starts it over: a baseline, hence a gap, never a wrong rate.
//  - Missed windows are never replayed: the next window covers them (duration = several intervals) and they count as gaps.
//  - A tick so late that the next one comes within half an interval is joined with that one.
class WindowClock {
 public:
  explicit WindowClock(int64_t interval_ns) : interval_(interval_ns) {}

  // CLOCK_MONOTONIC time of the next tick.
  int64_t deadline() const { return deadline_; }

  struct Tick {
    bool collect = false;
    atalaya_window window{};
    int64_t gaps = 0;  // windows, up to this one, that get no sample of their own; the next sample covers them
  };
  // Call once the deadline has passed. With `paused`, the window is let go (back-pressure); the next one covers it.
  Tick tick(const ClockReading &now, bool paused);

 private:
  Tick baseline(const ClockReading &now);
  void next_after(int64_t end, const ClockReading &now);

  int64_t interval_;
  int64_t deadline_ = 0;
  bool started_ = false;
  bool whole_ = false;          // the last collection stood at a window's beginning
  int64_t last_monotonic_ = 0;  // when the last collection began
  int64_t last_end_ = 0;        // the end of its window
  int64_t next_end_ = 0;
  int64_t real_offset_ = 0;  // realtime - monotonic at the last tick: a jump is a clock step
  int64_t boot_offset_ = 0;  // boottime - monotonic: growth is suspend
};

}  // namespace atalaya::core
