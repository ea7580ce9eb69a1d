// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/now.h"

namespace atalaya::probes {

// CLOCK_REALTIME - CLOCK_MONOTONIC, to convert times of BPF programs to times of spans. Uses the fastest of
// several readings, so that the error is a few ns.
inline int64_t realtime_offset() {
  int64_t best = INT64_MAX, offset = 0;
  for (int i = 0; i < 3; ++i) {
    const int64_t before = core::monotonic(), now = core::realtime(), after = core::monotonic();
    if (after - before >= best) continue;
    best = after - before;
    offset = now - before - best / 2;
  }
  return offset;
}

}  // namespace atalaya::probes
