// SPDX-License-Identifier: Apache-2.0
// The time, in ns. Any thread.
#pragma once

#include <chrono>
#include <cstdint>

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

}  // namespace atalaya::core
