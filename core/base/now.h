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

}  // namespace atalaya::core
