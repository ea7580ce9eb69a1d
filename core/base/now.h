// SPDX-License-Identifier: Apache-2.0
// The time, in ns. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace atalaya::core {

// CLOCK_MONOTONIC.
inline int64_t monotonic() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}
// For waiting until then.
inline std::chrono::steady_clock::time_point at(int64_t monotonic_ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(monotonic_ns));
}
// CLOCK_REALTIME, since 1970.
inline int64_t realtime() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Another one: CLOCK_BOOTTIME, CLOCK_THREAD_CPUTIME_ID. 0: the kernel does not have it.
inline int64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The three clocks of one moment.
struct ClockReading {
  int64_t monotonic = 0;  // does not step, stops in suspend
  int64_t realtime = 0;   // Unix time, may step
  int64_t boottime = 0;   // monotonic plus the time in suspend
};

// Reads again if the thread lost the processor in between: that would look like a step of a clock.
inline ClockReading read_clocks() {
  constexpr int64_t kMoment = 10'000'000;
  for (;;) {
    const int64_t before = clock_ns(CLOCK_BOOTTIME);
    const ClockReading now{monotonic(), realtime(), clock_ns(CLOCK_BOOTTIME)};
    if (now.boottime - before < kMoment) return now;
  }
}

}  // namespace atalaya::core
