// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/power/powercap.h"

#include <set>
#include <utility>

#include "plugins/shared/host/power/cpu_model.h"
#include "plugins/shared/host/power/numbers.h"

namespace atalaya::power {
namespace {

constexpr const char *kFolder = "sys/class/powercap/";
constexpr double kJoulesOfMicrojoule = 1e-6;
constexpr size_t kMaxText = 4096;  // the kernel returns at most a page

class Powercap final : public EnergyCounters {
 public:
  explicit Powercap(const procfs::Tree &tree) : tree_(tree) {}

  const std::vector<Zone> &zones() const override { return zones_; }
  std::optional<uint64_t> read(size_t zone) override { return count_of(files_[zone].read(tree_)); }
  void add(Zone zone, const std::string &file) {
    zones_.push_back(std::move(zone));
    files_.emplace_back(file);
  }

 private:
  const procfs::Tree &tree_;
  std::vector<Zone> zones_;
  std::vector<NumberFile> files_;
};

}  // namespace

bool place_zone(std::string_view name, std::string_view parent, Zone &zone) {
  const std::string_view package = name.starts_with("package-") ? name : parent;
  const std::string_view number = package.substr(0, package.find("-die-"));
  if (name == "psys") {
    zone.domain = Domain::platform;
    zone.package = 0;
    zone.max_watts = kMaxPlatformWatts;
    return true;
  }
  const auto id = number_after(number, "package-");
  if (!id) return false;
  zone.package = *id;
  if (name == package)
    zone.domain = Domain::package;
  else if (name == "core")
    zone.domain = Domain::cores;
  else if (name == "uncore")
    zone.domain = Domain::graphics;
  else if (name == "dram")
    zone.domain = Domain::memory;
  else
    return false;
  return true;
}

OpenedCounters open_powercap(const procfs::Tree &tree) {
  auto opened = std::make_unique<Powercap>(tree);
  std::set<std::pair<std::string, std::string>> known;  // the same zones may exist twice, also by memory-mapped registers
  std::string unreadable;
  const bool is_amd = read_cpu_model(tree).vendor == Vendor::amd;
  for (const std::string &entry : tree.list(kFolder, "intel-rapl").names) {
    const std::string folder = kFolder + entry + "/";
    const std::string name = tree.line(folder + "name");
    const auto range = tree.number(folder + "max_energy_range_uj");
    if (!range || *range <= 0) continue;
    const size_t colon = entry.rfind(':');
    const std::string parent = tree.line(kFolder + entry.substr(0, colon) + "/name");
    Zone zone;
    if (!place_zone(name, parent, zone) || known.contains({parent, name})) continue;
    if (zone.domain == Domain::cores && is_amd) continue;  // on AMD it is the register of one core
    const std::string file = folder + "energy_uj";
    if (const procfs::Tree::Text energy = tree.read(file, kMaxText); !energy.ok()) {
      if (unreadable.empty()) unreadable = tree.full_path(file) + ": " + core::error_text(energy.error);
      continue;
    }
    known.insert({parent, name});
    zone.name = parent.empty() ? name : std::string(parent).append(" ").append(name);
    zone.joules = kJoulesOfMicrojoule;
    zone.range = static_cast<uint64_t>(*range);
    opened->add(std::move(zone), file);
  }
  if (!opened->zones().empty()) return {std::move(opened), ""};
  if (unreadable.empty()) return {nullptr, tree.full_path(kFolder) + " has no RAPL zones"};
  return {nullptr, unreadable + "; only root may read it: grant CAP_DAC_READ_SEARCH"};
}

}  // namespace atalaya::power
