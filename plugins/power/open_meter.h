// SPDX-License-Identifier: Apache-2.0
// The best that this machine has to measure energy with.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/power/energy_meter.h"
#include "plugins/power/msr.h"
#include "plugins/power/topology.h"
#include "plugins/power/tree.h"

namespace atalaya::power {

struct OpenedMeter {
  std::unique_ptr<EnergyMeter> meter;
  std::string how;  // "powercap", "msr"; without a meter why there is none
};

// `rapl` is auto, powercap, msr or off. Tree and registers outlive the meter.
OpenedMeter open_meter(std::string_view rapl, const Tree &tree, Msr &msr, const std::vector<Cpu> &cpus);

}  // namespace atalaya::power
