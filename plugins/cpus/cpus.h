// SPDX-License-Identifier: Apache-2.0
// CPUs come and go: those that are online, and what is different from those that were.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace atalaya::cpus {

// Of /sys below the root.
std::vector<int> online_cpus(const std::string &root = "/");

struct CpuChange {
  std::vector<int> gone, come;
};
CpuChange change_of(const std::vector<int> &before, const std::vector<int> &online);

// "0-2,5" -> 0 1 2 5, as /sys/devices/system/cpu/online has it.
std::vector<int> parse_cpus(std::string_view text);

}  // namespace atalaya::cpus
