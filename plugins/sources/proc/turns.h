// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace atalaya::proc {

// Minimum time between two turns: a turn reads a part of the idle processes in full, or queries the file systems. Below 1 s, so
// that windows of 1 s have a turn each, even if the previous one was up to 0.3 s late.
inline constexpr int64_t kMinTurn_ns = 700'000'000;

}  // namespace atalaya::proc
