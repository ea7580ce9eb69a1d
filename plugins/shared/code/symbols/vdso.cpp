// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/vdso.h"

#include <sys/auxv.h>

#include <cstdint>
#include <string>

#include "core/base/files.h"

namespace atalaya::symbols {

std::span<const std::byte> own_vdso() {
  static constexpr size_t kMaxMaps = size_t{32} << 20;
  static const auto bytes = []() -> std::span<const std::byte> {
    const auto base = ::getauxval(AT_SYSINFO_EHDR);
    auto own = base == 0 ? core::Result<std::string>(std::string()) : core::read_file("/proc/self/maps", kMaxMaps);
    const auto mappings = parse_maps(own ? *own : std::string());
    const Mapping *mapping = find_mapping(mappings, base);
    if (mapping == nullptr || mapping->begin != base) return {};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel passes it as a number
    return {reinterpret_cast<const std::byte *>(base), mapping->end - mapping->begin};
  }();
  return bytes;
}

// The vDSO of 32-bit programs is within the first 4 GiB.
bool is_own_vdso(const Mapping &mapping) {
  return mapping.begin > UINT32_MAX && mapping.end - mapping.begin == own_vdso().size();
}

}  // namespace atalaya::symbols
