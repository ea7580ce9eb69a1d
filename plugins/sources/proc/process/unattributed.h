// SPDX-License-Identifier: Apache-2.0
// CPU time of the host that is charged to no process, so that the sum over processes is that of the host.
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/shared/host/procfs/host_busy.h"
#include "plugins/sources/proc/process/process_model.h"

namespace atalaya::proc {

struct Remainder {
  uint64_t irq_ns = 0;                  // interrupts charged to no task
  uint64_t user_ns = 0, kernel_ns = 0;  // unattributed
};

// /proc/stat counts ticks and processes nanoseconds, so in one pass processes may have used more than the host. This debt is
// carried: nothing is reported until the host has caught up. Over time attributed + remainders is the busy time of the host, to
// within a tick per core. Interrupts are reported first. Some kernels charge them to the interrupted task, which reports them then.
class Unattributed {
 public:
  // Maximum difference between the two counts at any time: a tick per core.
  explicit Unattributed(uint64_t noise_ns) : noise_ns_(static_cast<int64_t>(noise_ns)) {}

  // One pass; `attributed` is the usage of live and ended processes since the last pass. Empty without a pass to compare with: at
  // the first pass, at a baseline (the host was suspended, or passes were missed), and when a counter of the host decreased.
  // These start again without debt.
  std::optional<Remainder> add(const procfs::HostBusy &busy, const CpuTime &attributed, bool baseline);

 private:
  void settle_charged_irq();

  int64_t noise_ns_;
  std::optional<procfs::HostBusy> previous_;
  // Counted, but not yet attributed or reported. Below 0: more was attributed than counted.
  int64_t user_owed_ = 0, kernel_owed_ = 0, irq_owed_ = 0;
};

}  // namespace atalaya::proc
