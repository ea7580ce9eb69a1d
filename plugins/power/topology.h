// SPDX-License-Identifier: Apache-2.0
// Which CPUs there are, in which cores and packages, and of which make.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plugins/power/tree.h"

namespace atalaya::power {

struct Cpu {
  int32_t number = 0, package = 0, core_id = 0;
  bool first_of_core = false, first_of_package = false;  // has the lowest number in it
};
// Those that are switched on, by number.
std::vector<Cpu> read_cpus(const Tree &tree);

enum class Vendor : uint8_t { other, intel, amd };
struct CpuModel {
  Vendor vendor = Vendor::other;
  int32_t family = 0, model = 0;
};
CpuModel parse_cpuinfo(std::string_view text);  // /proc/cpuinfo
CpuModel read_cpu_model(const Tree &tree);

}  // namespace atalaya::power
