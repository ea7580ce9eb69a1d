// SPDX-License-Identifier: Apache-2.0
// Opens the best energy meter of this machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/power/energy_meter.h"
#include "plugins/shared/power/msr.h"
#include "plugins/shared/procfs/cpus.h"
#include "plugins/shared/procfs/tree.h"

namespace atalaya::power {

struct OpenedMeter {
  std::unique_ptr<EnergyMeter> meter;
  std::string how;  // "powercap", "powercap, cores by msr", "msr"; without a meter the reason
};

// `rapl` is auto, powercap, msr or off; with auto, AMD's cores are read in addition to the packages of powercap. Tree and registers
// outlive the meter.
OpenedMeter open_meter(std::string_view rapl, const core::Tree &tree, Msr &msr, const std::vector<cpus::Cpu> &cpus, Detail detail);
// Call it when the online CPUs have changed: packages may have changed, and registers are read on other CPUs.
void change_meter(EnergyMeter &meter, std::string_view rapl, const core::Tree &tree, Msr &msr, const std::vector<cpus::Cpu> &cpus,
                  Detail detail);

}  // namespace atalaya::power
