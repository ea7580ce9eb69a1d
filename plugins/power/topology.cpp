// SPDX-License-Identifier: Apache-2.0
#include "plugins/power/topology.h"

#include <algorithm>
#include <set>
#include <utility>

namespace atalaya::power {
namespace {

// What stands behind "key<blanks>: ".
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
  const auto value = parse_number(text);
  return value && *value >= 0 && *value < 0xffff ? static_cast<int32_t>(*value) : 0;
}

}  // namespace

std::vector<Cpu> read_cpus(const Tree &tree) {
  static constexpr const char *kFolder = "sys/devices/system/cpu";
  std::vector<Cpu> cpus;
  std::set<std::pair<int32_t, int32_t>> cores;
  std::set<int32_t> packages;
  for (const std::string &name : tree.entries(kFolder, "cpu")) {
    const auto number = number_after(name, "cpu");
    if (!number) continue;
    const std::string folder = std::string(kFolder) + "/" + name + "/topology/";
    const auto core_id = tree.number(folder + "core_id");
    if (!core_id) continue;  // switched off
    // Boards of one package may say -1.
    const int64_t package = std::max<int64_t>(tree.number(folder + "physical_package_id").value_or(0), 0);
    Cpu cpu{*number, static_cast<int32_t>(package), static_cast<int32_t>(*core_id)};
    cpu.first_of_core = cores.insert({cpu.package, cpu.core_id}).second;
    cpu.first_of_package = packages.insert(cpu.package).second;
    cpus.push_back(cpu);
  }
  return cpus;
}

CpuModel parse_cpuinfo(std::string_view text) {
  CpuModel model;
  std::string_view value;
  while (!text.empty()) {
    const std::string_view line = proc::next_line(text);
    if (line.empty()) break;  // the others are of the same make
    if (keyed(line, "vendor_id", value))
      model.vendor = value == "GenuineIntel"                              ? Vendor::intel
                     : value == "AuthenticAMD" || value == "HygonGenuine" ? Vendor::amd
                                                                          : Vendor::other;
    if (keyed(line, "cpu family", value)) model.family = small_number(value);
    if (keyed(line, "model", value)) model.model = small_number(value);
  }
  return model;
}

CpuModel read_cpu_model(const Tree &tree) {
  const auto text = tree.text("proc/cpuinfo");
  return text ? parse_cpuinfo(*text) : CpuModel{};
}

}  // namespace atalaya::power
