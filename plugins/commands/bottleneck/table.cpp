// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/base/text/safe_text.h"
#include "plugins/commands/bottleneck/output.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"

namespace atalaya::bottleneck {
namespace {

using core::visible;

constexpr size_t kMaxTableRows = 20;

std::string share(std::optional<double> part) {
  return part && std::isfinite(*part) ? jobs::percent_text(*part) : "";
}

void add_section(std::string &out, const char *title, const std::vector<command_line::Row> &rows, size_t all) {
  if (rows.size() < 2) return;
  out += std::string("\n") + title;
  if (rows.size() - 1 < all)
    out += " (" + std::to_string(rows.size() - 1) + " of " + std::to_string(all) + "; --format json has all)";
  out += "\n" + command_line::as_columns(rows);
}

void add_jobs(std::string &out, const Report &report) {
  std::vector<command_line::Row> rows = {{"job", "outcome", "tasks", "failed", "killed", "running", "seconds", "MiB"}};
  for (const jobs::JobTotals &job : report.analysis.totals) {
    if (rows.size() > kMaxTableRows) break;
    const jobs::JobData &data = report.analysis.data;
    rows.push_back({visible(job_text(data, job.job)), std::string(outcome_text(data.jobs[job.job].outcome)),
                    std::to_string(job.tasks), std::to_string(job.failed), std::to_string(job.killed), std::to_string(job.running),
                    job.seconds > 0 ? jobs::short_text(job.seconds) : "", number_text(job.bytes / (1 << 20))});
  }
  add_section(out, "Jobs", rows, report.analysis.totals.size());
}

void add_finding(std::string &out, const jobs::Analysis &all, const jobs::Finding &finding) {
  out += "* ";
  if (finding.job != jobs::kNoJob && all.data.jobs.size() > 1) out += visible(job_text(all.data, finding.job)) + ": ";
  out += visible(finding.summary) + "\n";
  const double length = finding.job == jobs::kNoJob ? 0 : all.totals[finding.job].seconds;
  if (const std::string saving = saving_text(finding, length); !saving.empty()) out += "    " + saving + "\n";
  for (const std::string &evidence : finding.evidence) out += "    " + visible(evidence) + "\n";
  for (const jobs::Check &check : finding.checks) {
    const char *verdict = check.verdict == jobs::Verdict::found       ? "found: "
                          : check.verdict == jobs::Verdict::ruled_out ? "ruled out: "
                                                                      : "";
    out += "    " + std::string(verdict) + visible(check.text) + "\n";
  }
  for (const jobs::Advice &advice : finding.advice) out += "    advice: " + visible(advice_text(advice)) + "\n";
  if (finding.index.empty()) return;
  std::string leading;
  for (size_t i = 0; i < std::min<size_t>(finding.metrics.leading, 6); ++i)
    leading +=
        (i == 0 ? "" : ", ") + finding.metrics.all[i].name + " " + jobs::coefficient_text(finding.metrics.all[i].correlation);
  const char *index = finding.index == "ipc" ? "instructions per cycle" : "processing speed (no data on instructions per cycle)";
  out += "    " + std::to_string(finding.metrics.leading) + " of " + std::to_string(finding.metrics.all.size()) +
         " metrics have 80 % of the correlation with " + index + ": " + visible(leading) +
         (finding.metrics.leading > 6 ? ", ..." : "") + "\n";
}

void add_nothing_found(std::string &out, const jobs::Analysis &all) {
  out += out.empty() ? "no bottleneck found\n" : "no slow task, phase or node found\n";
  if (all.compared.size() != 1) return;
  for (const std::string &text : compared_texts(all.compared.front())) out += "    " + visible(text) + "\n";
}

void add_nodes(std::string &out, const Report &report) {
  const jobs::Analysis &all = report.analysis;
  std::vector<command_line::Row> rows = {{"job", "node", "tasks", "lowest", "lower", "remote", "top 20 %", "bottleneck"}};
  for (const jobs::Node &node : all.nodes) {
    if (rows.size() > kMaxTableRows) break;
    rows.push_back({visible(job_text(all.data, node.job)), visible(all.data.name(node.host)), std::to_string(node.tasks),
                    std::to_string(node.lowest), std::to_string(node.lower), share(node.remote_share()), node.top ? "yes" : "",
                    node.bottleneck ? "yes" : ""});
  }
  add_section(out, "Nodes: tasks in the lowest and lower grade", rows, all.nodes.size());
}

void add_phases(std::string &out, const Report &report) {
  const jobs::Analysis &all = report.analysis;
  std::vector<command_line::Row> rows = {{"job", "phase", "tasks", "seconds", "KiB/s", "of the time", "correlation", "top 20 %"}};
  for (const jobs::PhaseRank &rank : all.ranks) {
    if (rows.size() > kMaxTableRows) break;
    const jobs::Group &group = all.groups[rank.group];
    rows.push_back({visible(job_text(all.data, group.job)), visible(group_text(all.data, group)), std::to_string(tasks_of(group)),
                    number_text(group.seconds), number_text(speed_of(group, group.speed)), share(rank.share),
                    jobs::coefficient_text(rank.correlation), rank.bottleneck ? "yes" : ""});
  }
  add_section(out, "Phases: correlation of their speed with the task's", rows, all.ranks.size());
}

void add_regions(std::string &out, const Report &report) {
  const jobs::Analysis &all = report.analysis;
  std::vector<command_line::Row> rows = {{"job", "region", "class", "runs", "seconds", "of all", "of tasks", "critical"}};
  for (const jobs::RegionCost &region : all.regions) {
    if (rows.size() > kMaxTableRows) break;
    rows.push_back({visible(job_text(all.data, region.job)), visible(all.data.name(region.name)),
                    std::string(severity_text(region.severity)), std::to_string(region.count), jobs::short_text(region.seconds),
                    jobs::percent_text(region.share), share(region.of_tasks), region.critical ? "yes" : ""});
  }
  add_section(out, "Code regions", rows, all.regions.size());
}

void add_tasks(std::string &out, const Report &report) {
  TaskRows tasks = bottleneck_tasks(report.analysis);
  for (command_line::Row &row : tasks.rows)
    for (std::string &cell : row) cell = visible(cell);
  add_section(out, "Bottleneck tasks", tasks.rows, tasks.all);
}

void add_change(std::string &out, const Report &report) {
  if (!report.change) return;
  const jobs::JobData &data = report.analysis.data;
  std::vector<command_line::Row> rows = {{"stage", "phase", "KiB/s before", "after", "change"}};
  const std::vector<jobs::Compared> both = compare(report.analysis, report.change->before, report.change->after);
  for (const jobs::Compared &one : both)
    rows.push_back({visible(data.name(one.stage)), visible(data.name(one.phase)), jobs::short_text(one.before),
                    jobs::short_text(one.after), jobs::percent_text(one.after / one.before - 1)});
  add_section(out, "Processing speed before and after", rows, both.size());
  if (const auto less = shorter(report))
    out += visible(job_text(data, report.change->after)) + " took " + time_text(*less) + " " +
           visible(job_text(data, report.change->before)) + "\n";
}

}  // namespace

TaskRows bottleneck_tasks(const jobs::Analysis &analysis) {
  const jobs::JobData &data = analysis.data;
  const bool with_job = data.jobs.size() > 1;
  TaskRows found{{{"task", "attempt", "node", "stage", "grade", "KiB/s", "seconds"}}};
  if (with_job) found.rows[0].insert(found.rows[0].begin(), "job");
  for (uint32_t i = 0; i < data.tasks.size(); ++i) {
    if (!analysis.bottlenecks[i] || ++found.all > kMaxTableRows) continue;
    const jobs::Task &task = data.tasks[i];
    const bool is_graded = !std::isnan(analysis.speeds[i]);
    found.rows.push_back({std::string(task.task()), std::string(task.attempt()), data.name(task.host), data.name(task.stage),
                          std::string(is_graded ? grade_text(analysis.grades[i]) : ""), number_text(analysis.speeds[i]),
                          jobs::short_text(static_cast<double>(task.work.duration_ns) / 1e9)});
    if (with_job) found.rows.back().insert(found.rows.back().begin(), job_text(data, task.job));
  }
  return found;
}

std::string title_of(const jobs::JobData &data, const jobs::BrokenJob &job) {
  const bool is_bad = job.outcome == outcome_text(jobs::Outcome::failed) || job.outcome == outcome_text(jobs::Outcome::killed);
  const std::string state =
      is_bad ? std::string(job.outcome)
             : (job.outcome.empty() ? "has an unknown outcome" : std::string(job.outcome)) + ", but parts of it failed";
  return job_text(data, job.job) + " " + state;
}

std::string errors_text(const jobs::JobData &data) {
  std::string out;
  for (const jobs::BrokenJob &job : broken_jobs(data)) {
    out += visible(title_of(data, job)) + "\n";
    for (const std::string &reason : job.reasons) {
      const char *indent = "    ";
      for (std::string_view rest = reason; !rest.empty(); indent = "        ") {
        const size_t end = rest.find('\n');
        out += indent + visible(rest.substr(0, end)) + "\n";
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
      }
    }
  }
  return out;
}

std::string number_text(double value) {
  return std::isfinite(value) ? jobs::short_text(value) : "";
}

std::string job_text(const jobs::JobData &data, uint32_t job) {
  if (job == jobs::kNoJob) return "";
  const std::string &id = data.name(data.jobs[job].id), &name = data.name(data.jobs[job].name);
  return name.empty() || name == id ? id : id + " (" + name + ")";
}

std::string group_text(const jobs::JobData &data, const jobs::Group &group) {
  const std::string &stage = data.name(group.stage), &phase = data.name(group.phase);
  return stage.empty() || phase.empty() ? stage + phase : stage + " " + phase;
}

std::optional<double> shorter(const Report &report) {
  if (!report.change) return std::nullopt;
  const jobs::JobTotals &first = report.analysis.totals[report.change->before],
                        &second = report.analysis.totals[report.change->after];
  // A job starts before its first task and ends after its last one: compare jobs with jobs, or tasks with tasks.
  const bool as_jobs = first.has_end && second.has_end;
  const double before = as_jobs ? first.seconds : first.of_tasks, after = as_jobs ? second.seconds : second.of_tasks;
  return before > 0 && after > 0 ? std::optional(1 - after / before) : std::nullopt;
}

std::string time_text(double less) {
  constexpr double kMinShown = 0.0005;  // 0.1 %
  return std::abs(less) < kMinShown ? "as long as"
                                    : jobs::percent_text(std::abs(less)) + (less > 0 ? " less" : " more") + " time than";
}

std::string as_table(const Report &report) {
  const jobs::Analysis &all = report.analysis;
  std::string out = errors_text(all.data);
  if (all.findings.empty()) add_nothing_found(out, all);
  for (const jobs::Finding &finding : all.findings) add_finding(out, all, finding);
  add_jobs(out, report);
  add_change(out, report);
  add_nodes(out, report);
  add_phases(out, report);
  add_regions(out, report);
  add_tasks(out, report);
  if (!all.notes.empty()) out += "\n";
  for (const std::string &note : all.notes) out += "note: " + visible(note) + "\n";
  return out;
}

}  // namespace atalaya::bottleneck
