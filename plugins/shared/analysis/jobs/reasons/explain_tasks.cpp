// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/reasons/explain_tasks.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/findings/checks.h"
#include "plugins/shared/analysis/jobs/model/phases.h"

namespace atalaya::jobs {
namespace {

std::set<uint32_t> hosts_of(const Finding &finding, const JobData &data) {
  std::set<uint32_t> hosts;
  for (const uint32_t task : finding.tasks) hosts.insert(data.tasks[task].host);
  return hosts;
}

// How many times the median of their stages the tasks of a host take in the job's other stages: the median, and their number.
std::pair<double, size_t> times_elsewhere(const Finding &finding, const JobData &data, const std::vector<Group> &groups,
                                          uint32_t host) {
  std::vector<double> times;
  for (const Group &group : groups) {
    if (group.job != finding.job || group.stage == finding.stage || group.phase != 0) continue;
    for (const Entry &entry : group.entries)
      if (data.tasks[entry.task].host == host) times.push_back(static_cast<double>(entry.time_ns) / 1e9 / group.seconds);
  }
  const size_t count = times.size();
  return {evidence::median(std::move(times)), count};
}

// If the slow tasks are all tasks of a node in their stage, nothing shows that the node is not the reason.
std::string subject_of(Finding &finding, const JobData &data, const std::vector<Group> &groups) {
  const std::set<uint32_t> hosts = hosts_of(finding, data);
  const size_t count = finding.tasks.size();
  const std::string tasks = stage_text(data, finding.stage) + (count == 1 ? "task" : "tasks"),
                    phase = finding.phase != 0 ? ", most in " + data.name(finding.phase) : "";
  const std::vector<Entry> &entries = groups[finding.group].entries;
  const auto of_host = std::count_if(entries.begin(), entries.end(),
                                     [&](const Entry &entry) { return data.tasks[entry.task].host == *hosts.begin(); });
  if (hosts.size() > 1 || static_cast<size_t>(of_host) > count)
    return std::to_string(count) + " " + tasks + (count == 1 ? " is slow by itself" : " are slow by themselves") + phase +
           ", and not the other tasks of " +
           (hosts.size() == 1 ? "node " + data.name(*hosts.begin()) : std::to_string(hosts.size()) + " nodes");
  finding.host = *hosts.begin();
  const auto [times, others] = times_elsewhere(finding, data, groups, finding.host);
  if (others > 0)
    finding.evidence.push_back("its tasks of other stages (" + std::to_string(others) + ") take " + short_text(times) +
                               " times the median of their stage");
  return (count == 1 ? "the only " : "all " + std::to_string(count) + " ") + tasks + " of node " + data.name(finding.host) +
         (count == 1 ? " is slow" : " are slow") + phase;
}

}  // namespace

void explain_tasks(Finding &finding, const JobData &data, const std::vector<Group> &groups) {
  const Group &group = groups[finding.group];
  const std::set<uint32_t> slow(finding.tasks.begin(), finding.tasks.end());
  const auto share = [&](bool is_own, auto part, auto whole) -> std::optional<double> {
    double sum = 0, all = 0;
    for (const Entry &entry : group.entries) {
      const Task &task = data.tasks[entry.task];
      if (slow.contains(entry.task) != is_own || part(task) == kUnknown || whole(task) <= 0) continue;
      sum += static_cast<double>(part(task));
      all += static_cast<double>(whole(task));
    }
    return all > 0 ? std::optional(std::min(1.0, sum / all)) : std::nullopt;
  };
  const auto gc = [](const Task &task) { return task.gc_ms; };
  const auto ms = [](const Task &task) { return task.work.duration_ns / 1'000'000; };
  Sides sides;
  std::vector<bool> is_own(data.tasks.size(), false);
  for (const uint32_t task : finding.tasks) is_own[task] = true;
  sides.tasks = {share(true, gc, ms), share(false, gc, ms), remote_reads(data, group, is_own)};
  sides.needs = phase_needs(data, groups, group, finding.phase);
  for (Check &check : check_all(Metrics(), sides))
    if (check.reason == Reason::garbage_collection || check.reason == Reason::remote_reads)
      finding.checks.push_back(std::move(check));
  // Metrics of the node are not used: they include all programs on the node, mostly other tasks.
  finding.evidence.emplace_back(
      "metrics of nodes are not compared for single tasks: no statement about CPU, memory, disk, network and other programs");
  finding.reason = reason_of(finding.checks);
  finding.summary = subject_of(finding, data, groups) + ": " + conclusion(finding.checks);
}

}  // namespace atalaya::jobs
