// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plugins/shared/host/procfs/process_reading.h"

namespace atalaya::proc {

// The final reading of an ended process.
struct ExitReading {
  procfs::ProcessReading last;  // no gauges; start_ns 0: unknown
  procfs::Name parent;          // name of the parent at the end of the process; empty: unknown
  int32_t parent_pid = 0;       // at the same time; 0: unknown
  uint64_t cgroup = 0;          // id; 0: unknown
};

}  // namespace atalaya::proc
