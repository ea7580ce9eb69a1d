// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace atalaya::proc {

// Minimum time between two readings of values that others change (a turn over idle processes) or that take another thread (file
// systems). With windows of a second each window has one, also when it is 0.3 s late.
inline constexpr int64_t kMinTurn_ns = 700'000'000;

}  // namespace atalaya::proc
