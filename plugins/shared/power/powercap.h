// SPDX-License-Identifier: Apache-2.0
// RAPL as the kernel shows it in /sys/class/powercap (Documentation/power/powercap/powercap.rst).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "plugins/shared/procfs/tree.h"
#include "plugins/shared/power/energy_meter.h"

namespace atalaya::power {

// Counters that can be read, or why there are none.
struct OpenedCounters {
  std::unique_ptr<EnergyCounters> counters;
  std::string why;
};

// `tree` outlives the counters.
OpenedCounters open_powercap(const core::Tree &tree);

// What a zone's name says, its parent's ("" of the uppermost) given too. False for names that are not known.
bool place_zone(std::string_view name, std::string_view parent, Zone &zone);

}  // namespace atalaya::power
