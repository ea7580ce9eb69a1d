// SPDX-License-Identifier: Apache-2.0
// Performance monitoring units (PMUs) of the CPUs: one for all cores, or one per core type
// (performance and efficiency cores).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace atalaya::counters {

struct Pmu {
  uint32_t type = 0;      // the kernel's number of the PMU; 0: the only one
  std::vector<int> cpus;  // empty: all
};

// Reads the PMUs from /sys below the root. For a host with one core type, returns one PMU for all CPUs, even if the hardware has
// none.
std::vector<Pmu> find_pmus(const std::string &root);

}  // namespace atalaya::counters
