// SPDX-License-Identifier: Apache-2.0
// The counting units of the CPUs: one for all, or one per kind of core (performance and efficiency cores).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace atalaya::counters {

struct Pmu {
  uint32_t type = 0;      // the kernel's number; 0: the only one
  std::vector<int> cpus;  // empty: all
};

// From /sys below the root. Without two kinds of cores, one unit for all CPUs, even if it does not exist.
std::vector<Pmu> find_pmus(const std::string &root);

}  // namespace atalaya::counters
