// SPDX-License-Identifier: Apache-2.0
// Reads RAPL energy from registers, for kernels without powercap. Sources: Intel SDM volume 3B, 15.10 "Platform specific power
// management support"; AMD PPR for family 17h, "RAPL".
#pragma once

#include <memory>
#include <vector>

#include "plugins/shared/host/power/cpu_model.h"
#include "plugins/shared/host/power/msr.h"
#include "plugins/shared/host/power/powercap.h"
#include "plugins/shared/host/procfs/cpus.h"

namespace atalaya::power {

// Opens the counters of all packages. `msr` must outlive the counters.
OpenedCounters open_msr_rapl(Msr &msr, const std::vector<procfs::Cpu> &cpus, const CpuModel &model, Detail detail);
// Opens only the counters of AMD's cores, which powercap lacks. Null if none can be read.
std::unique_ptr<EnergyCounters> open_amd_cores(Msr &msr, const std::vector<procfs::Cpu> &cpus, const CpuModel &model);

// The units of MSR_RAPL_POWER_UNIT.
struct RaplUnits {
  double joules = 0, seconds = 0;
};
RaplUnits rapl_units(uint64_t unit_register, const CpuModel &model);

}  // namespace atalaya::power
