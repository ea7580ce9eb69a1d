// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace atalaya::procfs {

// Busy time of all cores since boot, from /proc/stat.
struct HostBusy {
  uint64_t user_ns = 0;    // user + nice
  uint64_t kernel_ns = 0;  // system
  uint64_t irq_ns = 0;     // irq + softirq
};

}  // namespace atalaya::procfs
