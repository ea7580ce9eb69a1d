// SPDX-License-Identifier: Apache-2.0
// The vendor and model of the CPUs.
#pragma once

#include <cstdint>
#include <string_view>

#include "plugins/shared/host/procfs/tree.h"

namespace atalaya::power {

enum class Vendor : uint8_t { other, intel, amd };
struct CpuModel {
  Vendor vendor = Vendor::other;
  int32_t family = 0, model = 0;
};
CpuModel parse_cpuinfo(std::string_view text);  // /proc/cpuinfo
CpuModel read_cpu_model(const procfs::Tree &tree);

}  // namespace atalaya::power
