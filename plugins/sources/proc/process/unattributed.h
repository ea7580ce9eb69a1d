// SPDX-License-Identifier: Apache-2.0
// CPU time of the host that is charged to no process. The sum over processes plus the remainder is the busy time of the host.
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/shared/host/procfs/host_busy.h"
#include "plugins/sources/proc/process/process_model.h"

namespace atalaya::proc {

struct Remainder {
  uint64_t irq_ns = 0;                  // interrupt time charged to no task
  uint64_t user_ns = 0, kernel_ns = 0;  // busy time charged to no process
};

// Computes the remainder of each pass. /proc/stat counts ticks and processes count nanoseconds, so in one pass the processes may
// have used more than the host. The next passes subtract this debt: the remainder is 0 until the debt is paid.
// Invariant: attributed time + remainders = busy time of the host, within a tick per core. The remainder is
// first interrupt time, then user and kernel time. Kernels that charge interrupts to the interrupted task report them in its usage.
class Unattributed {
 public:
  // `noise_ns`: maximum difference between the two counts at any time (a tick per core).
  explicit Unattributed(uint64_t noise_ns) : noise_ns_(static_cast<int64_t>(noise_ns)) {}

  // Adds one pass; `attributed` is the usage of live and ended processes since the last pass. Returns nothing, and sets the debt
  // to 0, at the first pass, at a baseline (the host was suspended, or passes were missed) and when a counter of the host
  // decreased.
  std::optional<Remainder> add(const procfs::HostBusy &busy, const CpuTime &attributed, bool baseline);

 private:
  void settle_charged_irq();

  int64_t noise_ns_;
  std::optional<procfs::HostBusy> previous_;
  // Busy time of the host that is neither attributed nor reported yet. Negative: more was attributed than counted.
  int64_t pending_user_ns_ = 0, pending_kernel_ns_ = 0, pending_irq_ns_ = 0;
};

}  // namespace atalaya::proc
