// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/power/cpu_model.h"

#include <algorithm>
#include <array>

#include "core/base/text/text.h"
#include "plugins/shared/host/procfs/files.h"

namespace atalaya::power {
namespace {

// The value of a line "key<blanks>: value".
bool keyed(std::string_view line, std::string_view key, std::string_view &value) {
  if (!line.starts_with(key)) return false;
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos ||
      line.substr(key.size(), colon - key.size()).find_first_not_of(" \t") != std::string_view::npos)
    return false;
  value = line.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  return true;
}

int32_t small_number(std::string_view text) {
  const auto value = core::parse_number(text);
  return value && *value >= 0 && *value < 0xffff ? static_cast<int32_t>(*value) : 0;
}

}  // namespace

CpuModel parse_cpuinfo(std::string_view text) {
  CpuModel model;
  std::string_view value;
  while (!text.empty()) {
    const std::string_view line = core::cut_at(text, '\n');
    if (line.empty()) break;  // end of the first CPU; the others have the same model
    if (keyed(line, "vendor_id", value))
      model.vendor = value == "GenuineIntel"                              ? Vendor::intel
                     : value == "AuthenticAMD" || value == "HygonGenuine" ? Vendor::amd
                                                                          : Vendor::other;
    if (keyed(line, "cpu family", value)) model.family = small_number(value);
    if (keyed(line, "model", value)) model.model = small_number(value);
  }
  return model;
}

CpuModel read_cpu_model(const procfs::Tree &tree) {
  std::array<char, 4096> buffer{};  // the start of the file, with the first CPU
  return parse_cpuinfo(procfs::read_path(tree.folder(), "proc/cpuinfo", buffer).text);
}

}  // namespace atalaya::power
