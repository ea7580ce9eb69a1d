// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/reasons/explain_tasks.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "plugins/shared/analysis/jobs/findings/checks.h"
#include "plugins/shared/analysis/jobs/model/phases.h"

namespace atalaya::jobs {

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
  std::set<std::string> hosts;
  for (const uint32_t task : finding.tasks) hosts.insert(data.name(data.tasks[task].host));
  const size_t count = finding.tasks.size();
  finding.summary = (count == 1 ? "1 " : std::to_string(count) + " ") + stage_text(data, finding.stage) +
                    (count == 1 ? "task is" : "tasks are") + " slow by " + (count == 1 ? "itself" : "themselves") +
                    (finding.phase != 0 ? ", most in " + data.name(finding.phase) : "") + ", and not the other tasks of " +
                    (hosts.size() == 1 ? "node " + *hosts.begin() : std::to_string(hosts.size()) + " nodes") + ": " +
                    conclusion(finding.checks);
}

}  // namespace atalaya::jobs
