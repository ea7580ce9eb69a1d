// SPDX-License-Identifier: Apache-2.0
// The times of an entity are stored in whole seconds, which need half the bytes. The stored range is up to a second wider.
#pragma once

#include <cstdint>

namespace atalaya::store {

// The last second at or before the time, and the first one at or after it.
constexpr int64_t floor_s(int64_t time_ns) {
  return time_ns / 1'000'000'000 - (time_ns % 1'000'000'000 < 0 ? 1 : 0);
}
constexpr int64_t ceil_s(int64_t time_ns) {
  return time_ns / 1'000'000'000 + (time_ns % 1'000'000'000 > 0 ? 1 : 0);
}

// Saturates at the smallest or the largest number.
constexpr int64_t ns_of(int64_t time_s) {
  int64_t time_ns = 0;
  if (__builtin_mul_overflow(time_s, int64_t{1'000'000'000}, &time_ns)) return time_s < 0 ? INT64_MIN : INT64_MAX;
  return time_ns;
}

}  // namespace atalaya::store
