// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/model/regions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace atalaya::jobs {
namespace {

constexpr size_t kClasses = 5;
constexpr double kWorthwhileRegion = 0.1;  // minimum share of all regions, and of the tasks' time: smaller costs are not critical

// The time of tasks by job: of the tasks on the nodes that report its regions, or of all its tasks if these nodes are unknown.
// Regions without a job are compared with the tasks of all jobs.
std::map<uint32_t, double> total_task_seconds(const JobData &data) {
  struct Sums {
    std::set<uint32_t> hosts;
    double all = 0, there = 0;
  };
  std::map<uint32_t, Sums> jobs;
  for (const Region &region : data.regions) jobs[region.job].hosts.insert(region.host);
  for (const Task &task : data.tasks) {
    if (task.work.duration_ns == kUnknown) continue;
    const double seconds = static_cast<double>(task.work.duration_ns) / 1e9;
    for (const uint32_t job : {task.job, kNoJob}) {
      const auto sums = jobs.find(job);
      if (sums == jobs.end()) continue;
      sums->second.all += seconds;
      if (task.host != 0 && sums->second.hosts.contains(task.host)) sums->second.there += seconds;
    }
  }
  std::map<uint32_t, double> seconds;
  for (const auto &[job, sums] : jobs) seconds[job] = sums.there > 0 ? sums.there : sums.all;
  return seconds;
}

Severity severity_of(const RegionCost &region, const Clusters &clusters, size_t number) {
  const bool has_tasks = !std::isnan(region.of_tasks), counts = region.of_tasks >= kWorthwhileRegion;
  const size_t place = clusters.centres.size() - 1 - clusters.of_value[number];
  const auto severity = static_cast<Severity>(place);
  if (has_tasks ? !counts : clusters.centres.size() == 1) return std::max(severity, Severity::moderate);
  return severity;
}

// The regions of one job.
void grade(std::span<RegionCost> regions, double of_tasks, Clustering clustering) {
  std::vector<double> costs;
  double all = 0;
  for (const RegionCost &region : regions) {
    costs.push_back(region.seconds);
    all += region.seconds;
  }
  const Clusters clusters = clusters_of(costs, kClasses, clustering);
  for (size_t i = 0; i < regions.size(); ++i) {
    RegionCost &region = regions[i];
    region.share = all > 0 ? region.seconds / all : 0;
    region.of_tasks = of_tasks > 0 ? region.seconds / of_tasks : std::numeric_limits<double>::quiet_NaN();
    region.severity = severity_of(region, clusters, i);
    region.critical = region.severity <= Severity::severe && region.share >= kWorthwhileRegion;
  }
}

}  // namespace

std::string_view severity_text(Severity severity) {
  constexpr std::array<std::string_view, kClasses> kTexts = {"very severe", "severe", "moderate", "slight", "negligible"};
  return kTexts[static_cast<size_t>(severity)];
}

std::vector<RegionCost> grade_regions(const JobData &data, Clustering clustering) {
  std::map<std::pair<uint32_t, uint32_t>, RegionCost> found;  // by job and name
  for (const Region &region : data.regions) {
    RegionCost &cost = found[{region.job, region.name}];
    cost.job = region.job;
    cost.name = region.name;
    cost.count += region.runs;
    cost.seconds += region.seconds;
    cost.bytes += region.bytes;
    cost.bytes_seconds += region.bytes_seconds;
    cost.has_bytes = cost.has_bytes || region.has_bytes;
  }
  std::vector<RegionCost> regions;
  regions.reserve(found.size());
  for (const auto &[key, cost] : found) regions.push_back(cost);
  const std::map<uint32_t, double> of_tasks = total_task_seconds(data);
  for (auto begin = regions.begin(); begin != regions.end();) {
    const uint32_t job = begin->job;
    const auto end = std::find_if(begin, regions.end(), [job](const RegionCost &region) { return region.job != job; });
    grade({begin, end}, of_tasks.at(job), clustering);
    begin = end;
  }
  std::stable_sort(regions.begin(), regions.end(), [](const RegionCost &a, const RegionCost &b) { return a.seconds > b.seconds; });
  return regions;
}

}  // namespace atalaya::jobs
