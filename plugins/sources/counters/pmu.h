// SPDX-License-Identifier: Apache-2.0
// Which hardware counts on which CPU: one unit on all, but on CPUs of two kinds (performance and efficiency cores) a unit each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace atalaya::counters {

struct Pmu {
  uint32_t type = 0;      // as the kernel numbers it; 0: the only one
  std::vector<int> cpus;  // empty: all
};

// From /sys below the root. Without units of two kinds one that stands for all CPUs, whether there is such a unit or not.
std::vector<Pmu> find_pmus(const std::string &root);

}  // namespace atalaya::counters
