// SPDX-License-Identifier: Apache-2.0
// Opens the best energy meter of this machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/host/power/energy_meter.h"
#include "plugins/shared/host/power/msr.h"
#include "plugins/shared/host/procfs/cpus.h"
#include "plugins/shared/host/procfs/tree.h"

namespace atalaya::power {

struct OpenedMeter {
  std::unique_ptr<EnergyMeter> meter;
  std::string how;  // "powercap", "powercap, cores by msr", "msr"; if `meter` is null, the reason
};

// Opens a meter. `rapl` is auto, powercap, msr or off; with auto, AMD's cores are read in addition to the packages of powercap.
// `tree` and `msr` must outlive the meter.
OpenedMeter open_meter(std::string_view rapl, const procfs::Tree &tree, Msr &msr, const std::vector<procfs::Cpu> &cpus,
                       Detail detail);
// Call it when the online CPUs have changed: packages may have changed, and registers are read on other CPUs.
void change_meter(EnergyMeter &meter, std::string_view rapl, const procfs::Tree &tree, Msr &msr,
                  const std::vector<procfs::Cpu> &cpus, Detail detail);

}  // namespace atalaya::power
