// SPDX-License-Identifier: Apache-2.0
#include "plugins/power/powercap.h"

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "plugins/power/topology.h"

namespace atalaya::power {
namespace {

constexpr const char *kFolder = "sys/class/powercap/";
constexpr double kJoulesOfMicrojoule = 1e-6;

class Powercap final : public EnergyCounters {
 public:
  explicit Powercap(const Tree &tree) : tree_(tree) {}

  const std::vector<Zone> &zones() const override { return zones_; }
  std::optional<uint64_t> read(size_t zone) override {
    const auto value = files_[zone].read(tree_);
    return value && *value >= 0 ? std::optional(static_cast<uint64_t>(*value)) : std::nullopt;
  }
  void add(Zone zone, const std::string &file) {
    zones_.push_back(std::move(zone));
    files_.emplace_back(file);
  }

 private:
  const Tree &tree_;
  std::vector<Zone> zones_;
  std::vector<NumberFile> files_;
};

// Limits are kept on average over seconds, peaks are above them: twice the highest one that the zone names is out of reach.
double most_watts(const Tree &tree, const std::string &folder) {
  int64_t highest = 0;
  for (const char *constraint : {"constraint_0_", "constraint_1_", "constraint_2_"})
    for (const char *limit : {"max_power_uw", "power_limit_uw"})
      highest = std::max(highest, tree.number(folder + constraint + limit).value_or(0));
  return highest > 0 ? std::min(2e-6 * static_cast<double>(highest), kMostWatts) : kMostWatts;
}

}  // namespace

bool place_zone(std::string_view name, std::string_view parent, Zone &zone) {
  const std::string_view package = name.starts_with("package-") ? name : parent;
  const std::string_view number = package.substr(0, package.find("-die-"));
  if (name == "psys") {
    zone.domain = Domain::platform;
    zone.package = 0;
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

OpenedCounters open_powercap(const Tree &tree) {
  auto opened = std::make_unique<Powercap>(tree);
  std::set<std::pair<std::string, std::string>> known;  // the same zones may be there a second time, by memory-mapped registers
  std::string unreadable;
  const bool is_amd = read_cpu_model(tree).vendor == Vendor::amd;
  for (const std::string &entry : tree.entries(kFolder, "intel-rapl")) {
    const std::string folder = kFolder + entry + "/";
    const auto name = tree.text(folder + "name");
    const auto range = tree.number(folder + "max_energy_range_uj");
    if (!name || !range || *range <= 0) continue;
    const size_t colon = entry.rfind(':');
    const std::string parent = tree.text(kFolder + entry.substr(0, colon) + "/name").value_or("");
    Zone zone;
    if (!place_zone(*name, parent, zone) || known.contains({parent, *name})) continue;
    if (zone.domain == Domain::cores && is_amd) continue;  // there it is the register of one core
    if (!tree.number(folder + "energy_uj")) {
      if (unreadable.empty()) unreadable = tree.named(folder + "energy_uj") + ": " + core::error_text(errno);
      continue;
    }
    known.insert({parent, *name});
    zone.name = parent.empty() ? *name : parent + " " + *name;
    zone.joules = kJoulesOfMicrojoule;
    zone.range = static_cast<uint64_t>(*range);
    zone.most_watts = most_watts(tree, folder);
    opened->add(std::move(zone), folder + "energy_uj");
  }
  if (!opened->zones().empty()) return {std::move(opened), ""};
  if (unreadable.empty()) return {nullptr, tree.named(kFolder) + " has no zones of RAPL"};
  return {nullptr, unreadable + ", which only root may read: give CAP_DAC_READ_SEARCH"};
}

}  // namespace atalaya::power
