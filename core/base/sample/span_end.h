// SPDX-License-Identifier: Apache-2.0
// Ends of spans and beginnings of windows. A peer may write any length: sums stay within the range of times.
#pragma once

#include <atalaya/plugin.h>

#include <algorithm>
#include <cstdint>

namespace atalaya::core {

// Unix ns at which a span ends that began then. The length of an open one counts as 0.
inline int64_t end_of(int64_t start_ns, int64_t duration_ns) {
  const int64_t length_ns = std::max<int64_t>(duration_ns, 0);
  return start_ns > INT64_MAX - length_ns ? INT64_MAX : start_ns + length_ns;
}
inline int64_t end_of(const atalaya_sample &span) {
  return end_of(span.time_ns, span.duration_ns);
}

// Unix ns at which a window begins that ends then.
inline int64_t begin_of(int64_t time_ns, int64_t duration_ns) {
  const int64_t length_ns = std::max<int64_t>(duration_ns, 0);
  return time_ns < INT64_MIN + length_ns ? INT64_MIN : time_ns - length_ns;
}

}  // namespace atalaya::core
