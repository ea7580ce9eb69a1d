// SPDX-License-Identifier: Apache-2.0
// Ends of spans and starts of windows, in Unix ns. The sums saturate, because a peer may send any duration.
#pragma once

#include <atalaya/plugin.h>

#include <algorithm>
#include <cstdint>

namespace atalaya::core {

// The end of a span. An open span (negative duration) ends at its start.
inline int64_t end_of(int64_t start_ns, int64_t duration_ns) {
  const int64_t length_ns = std::max<int64_t>(duration_ns, 0);
  return start_ns > INT64_MAX - length_ns ? INT64_MAX : start_ns + length_ns;
}
inline int64_t end_of(const atalaya_sample &span) {
  return end_of(span.time_ns, span.duration_ns);
}

// The start of a window that ends at `time_ns`.
inline int64_t start_of(int64_t time_ns, int64_t duration_ns) {
  const int64_t length_ns = std::max<int64_t>(duration_ns, 0);
  return time_ns < INT64_MIN + length_ns ? INT64_MIN : time_ns - length_ns;
}

}  // namespace atalaya::core
