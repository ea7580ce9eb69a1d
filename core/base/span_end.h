// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <algorithm>
#include <cstdint>

namespace atalaya::core {

// Unix ns at which a span that is not open ends. Absurd times of a peer stay within the range of the type.
inline int64_t end_of(const atalaya_sample &span) {
  const int64_t length_ns = std::max<int64_t>(span.duration_ns, 0);
  return span.time_ns > INT64_MAX - length_ns ? INT64_MAX : span.time_ns + length_ns;
}

}  // namespace atalaya::core
