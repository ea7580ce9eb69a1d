// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace atalaya::proc {

// Minimum time between two full readings of a part of the idle processes, and between two queries of file systems. With windows of
// 1 s there is one per window, even if the previous one was up to 0.3 s late.
inline constexpr int64_t kMinTurn_ns = 700'000'000;

}  // namespace atalaya::proc
