// SPDX-License-Identifier: Apache-2.0
// What the readings of a cgroup mean, as values under the declared names.
#pragma once

#include "plugins/sources/proc/cgroup/cgroup_metrics.h"
#include "plugins/shared/cgroup/cgroup_reader.h"

namespace atalaya::proc {

// The readings of one cgroup that rates are made of.
struct CgroupHistory {
  Last<CgroupCounters> counters;
  Last<PressureTotals> cpu, memory, io;
};

void cgroup_values(const CgroupReading &reading, int64_t at_ns, CgroupHistory &history, CgroupValues &out);

}  // namespace atalaya::proc
