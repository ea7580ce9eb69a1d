// SPDX-License-Identifier: Apache-2.0
#include "plugins/bottleneck/regions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace atalaya::bottleneck {
namespace {

constexpr size_t kClasses = 5;
constexpr double kWorthwhile = 0.1;  // of all regions, and of the tasks' time: what costs less is not critical

// Of tasks on the nodes that tell regions; of all tasks where it is not known which these are.
double seconds_of_tasks(const Told &told) {
  std::set<uint32_t> hosts;
  for (const Region &region : told.regions) hosts.insert(region.host);
  double all = 0, there = 0;
  for (const Task &task : told.tasks) {
    if (task.work.duration_ns == kUnknown) continue;
    const double seconds = static_cast<double>(task.work.duration_ns) / 1e9;
    all += seconds;
    if (task.host != 0 && hosts.contains(task.host)) there += seconds;
  }
  return there > 0 ? there : all;
}

Severity severity_of(const RegionCost &region, const Clusters &clusters, size_t number) {
  const bool has_tasks = !std::isnan(region.of_tasks), counts = region.of_tasks >= kWorthwhile;
  const size_t place = clusters.centres.size() - 1 - clusters.of_value[number];
  const auto severity = static_cast<Severity>(place);
  if (has_tasks ? !counts : clusters.centres.size() == 1) return std::max(severity, Severity::moderate);
  return severity;
}

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
    cost.count += region.runs;
    cost.seconds += region.seconds;
    all += region.seconds;
    cost.bytes += region.bytes;
    cost.has_bytes = cost.has_bytes || region.has_bytes;
  }
  std::vector<RegionCost> regions;
  std::vector<double> costs;
  for (const auto &[name, cost] : found) {
    regions.push_back(cost);
    costs.push_back(cost.seconds);
  }
  const Clusters clusters = clusters_of(costs, kClasses, clustering);
  const double of_tasks = seconds_of_tasks(told);
  for (size_t i = 0; i < regions.size(); ++i) {
    RegionCost &region = regions[i];
    region.share = all > 0 ? region.seconds / all : 0;
    region.of_tasks = of_tasks > 0 ? region.seconds / of_tasks : std::numeric_limits<double>::quiet_NaN();
    region.severity = severity_of(region, clusters, i);
    region.critical = region.severity <= Severity::severe && region.share >= kWorthwhile;
  }
  std::stable_sort(regions.begin(), regions.end(), [](const RegionCost &a, const RegionCost &b) { return a.seconds > b.seconds; });
  return regions;
}

}  // namespace atalaya::bottleneck
