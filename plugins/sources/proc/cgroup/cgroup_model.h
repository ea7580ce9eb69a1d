// SPDX-License-Identifier: Apache-2.0
// Converts readings of a cgroup to the values of its metrics.
#pragma once

#include "plugins/shared/host/cgroup/cgroup_reader.h"
#include "plugins/sources/proc/cgroup/cgroup_metrics.h"

namespace atalaya::proc {

// The previous counters of one cgroup; rates are computed against them.
struct CgroupHistory {
  procfs::Last<cgroup::CgroupCounters> counters;
  procfs::Last<procfs::PressureTotals> cpu, memory, io;
};

void cgroup_values(const cgroup::CgroupReading &reading, int64_t at_ns, CgroupHistory &history, CgroupValues &out);

}  // namespace atalaya::proc
