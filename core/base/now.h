// SPDX-License-Identifier: Apache-2.0
// Clock readings, in ns. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace atalaya::core {

// CLOCK_MONOTONIC.
inline int64_t monotonic() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}
// A CLOCK_MONOTONIC time for condition_variable::wait_until.
inline std::chrono::steady_clock::time_point at(int64_t monotonic_ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(monotonic_ns));
}
// CLOCK_REALTIME, since 1970.
inline int64_t realtime() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Reads another clock, such as CLOCK_BOOTTIME or CLOCK_THREAD_CPUTIME_ID. 0 if the kernel lacks it.
inline int64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Three clocks, read at the same instant.
struct ClockReading {
  int64_t monotonic = 0;  // does not step, stops in suspend
  int64_t realtime = 0;   // Unix time, may step
  int64_t boottime = 0;   // monotonic plus the time in suspend
};

// Repeats the reading if the thread was preempted during it: the delay would look like a clock step.
inline ClockReading read_clocks() {
  constexpr int64_t kMaxReadingNs = 10'000'000;
  for (;;) {
    const int64_t before = clock_ns(CLOCK_BOOTTIME);
    const ClockReading now{monotonic(), realtime(), clock_ns(CLOCK_BOOTTIME)};
    if (now.boottime - before < kMaxReadingNs) return now;
  }
}

}  // namespace atalaya::core
