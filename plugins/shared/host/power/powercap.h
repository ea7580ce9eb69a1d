// SPDX-License-Identifier: Apache-2.0
// RAPL from /sys/class/powercap (Documentation/power/powercap/powercap.rst).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "plugins/shared/host/power/energy_meter.h"
#include "plugins/shared/host/procfs/tree.h"

namespace atalaya::power {

// Readable counters, or the reason why there are none.
struct OpenedCounters {
  std::unique_ptr<EnergyCounters> counters;
  std::string why;
};

// `tree` outlives the counters.
OpenedCounters open_powercap(const procfs::Tree &tree);

// Derives the zone from its name and the parent's name ("" for a top-level zone). False for unknown names.
bool place_zone(std::string_view name, std::string_view parent, Zone &zone);

}  // namespace atalaya::power
