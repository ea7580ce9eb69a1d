// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/clock.h"

#include <cstdlib>

#include "core/base/clock_steps.h"

namespace atalaya::core {

atalaya_window last_call_after(atalaya_window window) {
  window.flags =
      ATALAYA_WINDOW_LAST | ATALAYA_WINDOW_BASELINE;  // the second flag is for components that do not support a last window
  window.duration_ns = 0;
  return window;
}

WindowClock::Tick WindowClock::tick(const ClockReading &now, bool paused) {
  const int64_t real_offset = now.realtime - now.monotonic;
  const int64_t boot_offset = now.boottime - now.monotonic;
  const int64_t step = step_threshold(interval_);
  const bool jumped = std::llabs(real_offset - real_offset_) > step || boot_offset - boot_offset_ > step;
  real_offset_ = real_offset;
  boot_offset_ = boot_offset;
  if (!started_ || jumped) return baseline(now);

  const int64_t late = now.realtime > next_end_ ? now.realtime - next_end_ : 0;
  const int64_t missed = late / interval_;
  const int64_t end = next_end_ + missed * interval_;
  const int64_t elapsed = now.monotonic - last_monotonic_;
  next_after(end, now);

  Tick tick;
  tick.collect = !paused && (!whole_ || elapsed >= interval_ / 2);
  tick.gaps = missed + (tick.collect ? 0 : 1);
  if (!tick.collect) return tick;
  tick.window = {sizeof(atalaya_window), 0, end, end - last_end_, interval_, now.monotonic};
  if (!whole_ && elapsed < interval_ - interval_ / 20) {
    tick.window.flags = ATALAYA_WINDOW_BASELINE;
    tick.window.duration_ns = 0;
  } else if (!whole_) {
    tick.window.duration_ns = (elapsed + interval_ / 2) / interval_ * interval_;
  }
  whole_ = true;
  last_monotonic_ = now.monotonic;
  last_end_ = end;
  return tick;
}

WindowClock::Tick WindowClock::baseline(const ClockReading &now) {
  Tick tick;
  tick.collect = true;
  tick.window = {sizeof(atalaya_window), ATALAYA_WINDOW_BASELINE, now.realtime, 0, interval_, now.monotonic};
  tick.gaps = started_ ? 1 : 0;
  started_ = true;
  whole_ = false;
  last_monotonic_ = now.monotonic;
  last_end_ = now.realtime;
  next_after(now.realtime / interval_ * interval_, now);
  return tick;
}

void WindowClock::next_after(int64_t end, const ClockReading &now) {
  next_end_ = end + interval_;
  deadline_ = now.monotonic + (next_end_ - now.realtime);
}

}  // namespace atalaya::core
