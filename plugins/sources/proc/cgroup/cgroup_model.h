// SPDX-License-Identifier: Apache-2.0
// From readings of a cgroup to values under the declared names.
#pragma once

#include "plugins/shared/host/cgroup/cgroup_reader.h"
#include "plugins/sources/proc/cgroup/cgroup_metrics.h"

namespace atalaya::proc {

// The counters of one cgroup.
struct CgroupHistory {
  procfs::Last<cgroup::CgroupCounters> counters;
  procfs::Last<procfs::PressureTotals> cpu, memory, io;
};

void cgroup_values(const cgroup::CgroupReading &reading, int64_t at_ns, CgroupHistory &history, CgroupValues &out);

}  // namespace atalaya::proc
