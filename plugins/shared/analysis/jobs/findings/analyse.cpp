// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/findings/analyse.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/analysis/jobs/reasons/explain.h"
#include "plugins/shared/analysis/jobs/reasons/remote_reads.h"
#include "plugins/shared/analysis/jobs/rules/find_rules.h"
#include "plugins/shared/analysis/jobs/schedule/skew.h"

namespace atalaya::jobs {
namespace {

constexpr size_t kMaxExplained = 20;  // maximum explained findings: each reads all metrics of its nodes

std::vector<JobTotals> totals_of(const JobData &data) {
  std::vector<JobTotals> totals(data.jobs.size());
  std::vector<std::pair<int64_t, int64_t>> times(totals.size(), {std::numeric_limits<int64_t>::max(), 0});
  for (const Task &task : data.tasks) {
    JobTotals &job = totals[task.job];
    ++job.tasks;
    job.failed += task.outcome == Outcome::failed ? 1 : 0;
    job.killed += task.outcome == Outcome::killed ? 1 : 0;
    job.running += task.outcome == Outcome::running ? 1 : 0;
    auto &[begin, end] = times[task.job];
    begin = std::min(begin, task.work.start_ns);
    if (task.work.duration_ns != kUnknown) end = std::max(end, task.work.end_ns());
    if (task.is_done() && task.work.bytes != kUnknown)
      job.bytes = (std::isnan(job.bytes) ? 0 : job.bytes) + static_cast<double>(task.work.bytes);
  }
  for (uint32_t i = 0; i < totals.size(); ++i) {
    totals[i].job = i;
    const Job &job = data.jobs[i];
    const auto &[begin, end] = times[i];
    totals[i].has_end = job.has_span && job.work.duration_ns > 0;
    if (job.outcome != Outcome::running && totals[i].running == 0 && end > begin)
      totals[i].of_tasks = static_cast<double>(end - begin) / 1e9;
    totals[i].seconds = totals[i].has_end ? static_cast<double>(job.work.duration_ns) / 1e9 : totals[i].of_tasks;
  }
  return totals;
}

double total_speed(const Group &group) {
  double bytes = 0, time_ns = 0;
  for (const Entry &entry : group.entries) {
    bytes += static_cast<double>(entry.bytes);
    time_ns += static_cast<double>(entry.time_ns);
  }
  return bytes / 1024 / (time_ns / 1e9);
}

void add_notes(Analysis &all) {
  for (const Group &group : all.groups) {
    if (group.phase != 0) continue;
    const std::string name = name_of(all.data, group);
    if (const std::string why = why_no_verdict(group); !why.empty()) all.notes.emplace_back(name).append(": ").append(why);
    if (group.by_time) all.notes.push_back(name + ": its tasks report no bytes (span.bytes), so they are compared by their time");
    if (group.without_speed > 0)
      all.notes.push_back(name + ": the speed of " + std::to_string(group.without_speed) +
                          " tasks is not known: they moved no bytes, took no time, or do not report them (span.bytes)");
  }
}

void add_notes_on_spans(Analysis &all) {
  if (all.data.without_identity > 0)
    all.notes.push_back(std::to_string(all.data.without_identity) +
                        " spans of tasks and phases without a tag task or phase were ignored");
  if (all.data.without_end > 0)
    all.notes.push_back(std::to_string(all.data.without_end) +
                        " tasks have no end although their jobs are over: their outcome is not known");
  if (all.data.reruns > 0)
    all.notes.push_back(std::to_string(all.data.reruns) +
                        " tasks were run again under the same ids, as by a second attempt of an application: the later runs count");
  if (all.data.regions_without_job > 0)
    all.notes.push_back(std::to_string(all.data.regions_without_job) +
                        " runs of code regions have no job: they ran on its nodes in its time, and may belong to another job");
  all.notes.insert(all.notes.end(), all.data.notes.begin(), all.data.notes.end());
  for (const std::string &job : all.data.idle)
    all.notes.push_back("job " + core::in_quotes(job) +
                        " runs, or died without an end: none of its tasks started or ended in this time range");
}

void mark(Analysis &all) {
  all.grades.resize(all.data.tasks.size(), Grade::medium);
  all.speeds.resize(all.data.tasks.size(), std::numeric_limits<double>::quiet_NaN());
  all.bottlenecks.resize(all.data.tasks.size(), false);
  for (const Group &group : all.groups) {
    if (group.phase != 0) continue;
    for (const Entry &entry : group.entries) {
      all.grades[entry.task] = entry.grade;
      all.speeds[entry.task] = speed_of(group, entry.speed);
    }
  }
  for (const Finding &finding : all.findings) {
    for (const uint32_t task : finding.tasks) all.bottlenecks[task] = true;
    for (Node &node : all.nodes)
      if (finding.kind == Finding::Kind::node && node.job == finding.job && node.host == finding.host) node.bottleneck = true;
  }
}

void append(std::vector<Finding> &all, std::vector<Finding> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

// Sorts findings by the seconds of the job that they explain; those that explain the same: nodes, then tasks.
void find_all(Analysis &all, const DetectOptions &options, query::Budget &budget) {
  std::vector<double> seconds;
  for (const JobTotals &job : all.totals) seconds.push_back(job.seconds);
  all.findings = find_slow(all.data, all.groups, all.ranks, options);
  append(all.findings, find_failing(all.data, all.groups));
  std::stable_sort(all.findings.begin(), all.findings.end(),
                   [](const Finding &a, const Finding &b) { return std::tuple(a.kind, -a.lost) < std::tuple(b.kind, -b.lost); });
  all.compared = add_rules(all.findings, all.data, all.groups, seconds, budget);
  for (Finding &finding : all.findings) finding.weight = std::isnan(finding.seconds) ? 0 : finding.seconds;
  evidence::rank(all.findings);
}

}  // namespace

Analysis analyse(JobData data, const DetectOptions &options, store::Store &store, query::Budget &budget) {
  Analysis all;
  all.data = std::move(data);
  all.totals = totals_of(all.data);
  all.groups = grade(all.data, options, budget);
  all.ranks = rank_phases(all.data, all.groups);
  all.nodes = rank_nodes(all.data, all.groups);
  all.regions = grade_regions(all.data, options.clustering);
  find_all(all, options, budget);
  if (all.findings.size() > kMaxExplained) {
    all.notes.push_back(std::to_string(all.findings.size() - kMaxExplained) +
                        " more slow nodes and tasks, with smaller losses, are not listed");
    all.findings.resize(kMaxExplained);
  }
  explain(all.findings, all.data, all.groups, store, budget, all.notes);
  append(all.findings, find_remote(all.data, all.groups, all.findings, options));
  for (Finding &finding : find_regions(all.data, all.regions)) all.findings.push_back(std::move(finding));
  add_notes(all);
  add_notes_on_spans(all);
  mark(all);
  return all;
}

std::vector<Compared> compare(const Analysis &analysis, uint32_t before, uint32_t after) {
  std::map<std::pair<uint32_t, uint32_t>, const Group *> others;
  for (const Group &group : analysis.groups)
    if (group.job == after && !group.entries.empty() && !group.by_time) others[{group.stage, group.phase}] = &group;
  std::vector<Compared> found;
  for (const Group &group : analysis.groups) {
    if (group.job != before || group.entries.empty() || group.by_time) continue;
    const auto other = others.find({group.stage, group.phase});
    if (other != others.end()) found.push_back({group.stage, group.phase, total_speed(group), total_speed(*other->second)});
  }
  return found;
}

}  // namespace atalaya::jobs
