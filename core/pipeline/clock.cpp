// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/clock.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/clock_steps.h"

namespace atalaya::core {
namespace {

// Clocks are read one after the other, and the thread may be preempted in between: see read_clocks().
constexpr int64_t kReadingNoise = 10'000'000;

}  // namespace

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
  const bool jumped = std::llabs(real_offset - last_offset_) > step || boot_offset - boot_offset_ > step;
  last_offset_ = real_offset;
  boot_offset_ = boot_offset;
  if (!started_ || jumped) return baseline(now);
  if (std::llabs(real_offset - real_offset_) > kReadingNoise) real_offset_ = real_offset;

  const int64_t realtime = now.monotonic + real_offset_;
  const int64_t late = std::max<int64_t>(realtime - next_end_, 0);
  const int64_t missed = late / interval_;
  const int64_t time = next_end_ + late / rounding_ns() * rounding_ns();
  const int64_t reading = time - real_offset_;
  const int64_t elapsed = reading - last_reading_;
  next_after(next_end_ + missed * interval_);

  Tick tick;
  tick.collect = !paused && (!is_complete_ || elapsed >= interval_ / 2);
  tick.gaps = missed + (tick.collect ? 0 : 1);
  if (!tick.collect) return tick;
  tick.window = {sizeof(atalaya_window), 0, time, elapsed, interval_, reading};
  if (!is_complete_ && elapsed < interval_ - interval_ / 20) {
    tick.window.flags = ATALAYA_WINDOW_BASELINE;
    tick.window.duration_ns = 0;
  }
  is_complete_ = true;
  last_reading_ = reading;
  return tick;
}

WindowClock::Tick WindowClock::baseline(const ClockReading &now) {
  Tick tick;
  tick.collect = true;
  tick.window = {sizeof(atalaya_window), ATALAYA_WINDOW_BASELINE, now.realtime, 0, interval_, now.monotonic};
  tick.gaps = started_ ? 1 : 0;
  started_ = true;
  is_complete_ = false;
  real_offset_ = last_offset_;
  last_reading_ = now.monotonic;
  next_after(now.realtime / interval_ * interval_);
  return tick;
}

void WindowClock::next_after(int64_t end) {
  next_end_ = end + interval_;
  deadline_ = next_end_ - real_offset_;
}

}  // namespace atalaya::core
