// SPDX-License-Identifier: Apache-2.0
// The CPU time that the host counted and no process was charged with, so that the sum over processes is the host's.
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/shared/procfs/host_busy.h"
#include "plugins/sources/proc/process/process_model.h"

namespace atalaya::proc {

struct Remainder {
  uint64_t irq_ns = 0;                  // handled interrupts that no task was charged with
  uint64_t user_ns = 0, kernel_ns = 0;  // unattributed
};

// /proc/stat counts ticks and processes nanoseconds, so that in one pass processes may have used more than the host was busy. Such
// a debt is carried: nothing is told until the host has caught up. Over time attributed + remainders is the host's busy time,
// within a tick of each core. Interrupts are told first. Some kernels charge them to the task that they interrupt; those were told
// with that task.
class Unattributed {
 public:
  // By how much the two ways of counting may differ at any time: a tick of each core.
  explicit Unattributed(uint64_t noise_ns) : noise_ns_(static_cast<int64_t>(noise_ns)) {}

  // One pass; `attributed` is what processes used since the one before, those that live and those that ended. Empty where there is
  // nothing to compare with: at the first pass, at a baseline (the host was suspended, or passes were missed), and when a counter
  // of the host went down. These begin anew, without the debt.
  std::optional<Remainder> add(const HostBusy &busy, const CpuTime &attributed, bool baseline);

 private:
  void settle_charged_irq();

  int64_t noise_ns_;
  std::optional<HostBusy> previous_;
  // Counted, and neither attributed nor told yet. Below 0: more was attributed than was counted.
  int64_t user_owed_ = 0, kernel_owed_ = 0, irq_owed_ = 0;
};

}  // namespace atalaya::proc
