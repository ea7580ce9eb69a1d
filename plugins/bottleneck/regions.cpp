// SPDX-License-Identifier: Apache-2.0
#include "plugins/bottleneck/regions.h"

#include <algorithm>
#include <map>

namespace atalaya::bottleneck {
namespace {

constexpr size_t kClasses = 5;
constexpr double kWorthwhile = 0.1;  // of all: among few regions, one that costs less is not critical, whatever the others cost

}  // namespace

std::string_view severity_text(Severity severity) {
  constexpr std::array<std::string_view, kClasses> kTexts = {"very severe", "severe", "moderate", "slight", "negligible"};
  return kTexts[static_cast<size_t>(severity)];
}

std::vector<RegionCost> grade_regions(const Told &told, Clustering clustering) {
  std::map<uint32_t, RegionCost> found;
  double all = 0;
  for (const Region &region : told.regions) {
    RegionCost &cost = found[region.name];
    cost.name = region.name;
    ++cost.count;
    cost.seconds += static_cast<double>(region.duration_ns) / 1e9;
    all += static_cast<double>(region.duration_ns) / 1e9;
    if (region.bytes == kUnknown) continue;
    cost.bytes += static_cast<double>(region.bytes);
    cost.has_bytes = true;
  }
  std::vector<RegionCost> regions;
  std::vector<double> costs;
  for (const auto &[name, cost] : found) {
    regions.push_back(cost);
    costs.push_back(cost.seconds);
  }
  const Clusters clusters = clusters_of(costs, kClasses, clustering);
  for (size_t i = 0; i < regions.size(); ++i) {
    RegionCost &region = regions[i];
    region.share = all > 0 ? region.seconds / all : 0;
    region.severity = static_cast<Severity>(clusters.centres.size() - 1 - clusters.of_value[i]);
    region.critical = region.severity <= Severity::severe && region.share >= kWorthwhile;
  }
  std::stable_sort(regions.begin(), regions.end(), [](const RegionCost &a, const RegionCost &b) { return a.seconds > b.seconds; });
  return regions;
}

}  // namespace atalaya::bottleneck
