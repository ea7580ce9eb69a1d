// SPDX-License-Identifier: Apache-2.0
// Reads RAPL energy from /sys/class/powercap (Documentation/power/powercap/powercap.rst).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "plugins/shared/host/power/energy_meter.h"
#include "plugins/shared/host/procfs/tree.h"

namespace atalaya::power {

// The readable counters, or the reason why there are none.
struct OpenedCounters {
  std::unique_ptr<EnergyCounters> counters;
  std::string why;
};

// Opens the counters. `tree` must outlive them.
OpenedCounters open_powercap(const procfs::Tree &tree);

// Sets the domain and the package of a zone from its name and its parent's name ("" for a top-level zone). False for unknown
// names.
bool place_zone(std::string_view name, std::string_view parent, Zone &zone);

}  // namespace atalaya::power
