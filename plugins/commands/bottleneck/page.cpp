// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>

#include "plugins/commands/bottleneck/output.h"
#include "plugins/commands/bottleneck/pictures.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"

namespace atalaya::bottleneck {
namespace {

using command_line::xml_text;

constexpr size_t kMaxPictures = 24, kMaxRows = 200, kMaxMetrics = 25;

// The content security policy: no text, such as the name of a job, can load or run anything.
constexpr const char *kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark"><meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body{font:14px/1.45 "DejaVu Sans",Helvetica,Arial,sans-serif;color:#222;max-width:1080px;margin:24px auto;padding:0 16px}
h1{font-size:22px;margin:0 0 4px}h2{font-size:17px;margin:32px 0 8px}h3{font-size:14px;margin:20px 0 4px}
p{margin:4px 0;color:#555}svg{max-width:49%;height:auto;margin:8px 0}
.finding{border-left:4px solid #d55e00;padding:2px 0 2px 14px;margin:14px 0}.finding h3{margin:0 0 4px}
ul{margin:4px 0 8px;padding-left:20px}li.no{color:#555}
table{border-collapse:collapse;margin:4px 0 12px}th,td{padding:3px 12px 3px 0;text-align:left;vertical-align:top;
border-bottom:1px solid #e4e4e4;max-width:420px;overflow-wrap:break-word}th{font-weight:600}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
@media (prefers-color-scheme:dark){body{background:#101215;color:#d6d9de}p,li.no{color:#9aa0a8}th,td{border-color:#30343b}
.finding{border-color:#e8833a}}
@media print{body{max-width:none;margin:0}h2{break-after:avoid}svg,tr,.finding{break-inside:avoid}}
@media (max-width:800px){svg{max-width:100%}table{display:block;overflow-x:auto}}
</style>
)";

// A note below a shortened table.
void add_how_many(std::string &out, size_t shown, size_t all) {
  if (shown < all) out += "<p>" + std::to_string(shown) + " of " + std::to_string(all) + "; --format json has all.</p>\n";
}

// Adds a table of texts; columns from `numbers` on are right-aligned.
void add_table(std::string &out, const std::vector<command_line::Row> &rows, size_t numbers) {
  if (rows.size() < 2) return;
  out += "<table>";
  for (size_t row = 0; row < std::min(rows.size(), kMaxRows + 1); ++row) {
    out += "<tr>";
    const char *tag = row == 0 ? "th" : "td";
    for (size_t i = 0; i < rows[row].size(); ++i)
      out += std::string("<") + tag + (i >= numbers ? " class=\"n\">" : ">") + xml_text(rows[row][i]) + "</" + tag + ">";
    out += "</tr>\n";
  }
  out += "</table>\n";
  add_how_many(out, std::min(rows.size() - 1, kMaxRows), rows.size() - 1);
}

class Page {
 public:
  explicit Page(const Report &report) : report_(report), all_(report.analysis), data_(report.analysis.data) {}

  std::string write() {
    out_ = kHead;
    const std::string title = data_.jobs.size() == 1 ? "Bottlenecks of " + job_text(data_, 0)
                                                     : "Bottlenecks of " + std::to_string(data_.jobs.size()) + " jobs";
    out_ += "<title>" + xml_text(title) + "</title></head><body>\n<h1>" + xml_text(title) + "</h1>\n<p>" + xml_text(report_.time) +
            ", of " + xml_text(report_.store) + "; grades by " + (std::string(report_.clustering) == "pam" ? "PAM" : "k-means") +
            "</p>\n";
    add_findings();
    add_jobs();
    add_change();
    add_pictures();
    add_nodes();
    add_phases();
    add_regions();
    add_tasks();
    add_notes();
    return std::move(out_ += "</body></html>\n");
  }

 private:
  void add_findings() {
    out_ += "<h2>Findings</h2>\n";
    const std::vector<jobs::BrokenJob> broken = broken_jobs(data_);
    for (const jobs::BrokenJob &job : broken) add(job);
    if (all_.findings.empty()) add_nothing_found(broken.empty());
    for (const jobs::Finding &finding : all_.findings) add(finding);
  }
  void add_nothing_found(bool none_broken) {
    out_ += none_broken ? "<p>No bottleneck found.</p>\n" : "<p>No slow task, phase or node found.</p>\n";
    if (all_.compared.size() != 1) return;
    for (const std::string &text : compared_texts(all_.compared.front())) out_ += "<p>" + xml_text(text) + "</p>\n";
  }
  void add(const jobs::BrokenJob &job) {
    out_ += "<div class=\"finding\"><h3>" + xml_text(title_of(data_, job)) + "</h3>\n<ul>\n";
    for (const std::string &reason : job.reasons) out_ += "<li>" + xml_text(reason) + "</li>\n";
    out_ += "</ul>\n</div>\n";
  }
  void add(const jobs::Finding &finding) {
    out_ += "<div class=\"finding\"><h3>" + xml_text(finding.summary) + "</h3>\n";
    if (finding.job != jobs::kNoJob) out_ += "<p>" + xml_text(job_text(data_, finding.job)) + "</p>\n";
    out_ += "<ul>\n";
    const double length = finding.job == jobs::kNoJob ? 0 : all_.totals[finding.job].seconds;
    if (const std::string saving = saving_text(finding, length); !saving.empty()) out_ += "<li>" + saving + "</li>\n";
    for (const std::string &evidence : finding.evidence) out_ += "<li>" + xml_text(evidence) + "</li>\n";
    for (const jobs::Check &check : finding.checks) {
      const bool found = check.verdict == jobs::Verdict::found;
      out_ += std::string(found ? "<li><b>found:</b> " : "<li class=\"no\">") +
              (check.verdict == jobs::Verdict::ruled_out ? "ruled out: " : "") + xml_text(check.text) + "</li>\n";
    }
    for (const jobs::Advice &advice : finding.advice) out_ += "<li><b>advice:</b> " + xml_text(advice_text(advice)) + "</li>\n";
    out_ += "</ul>\n";
    add_metrics(finding);
    out_ += "</div>\n";
  }
  void add_metrics(const jobs::Finding &finding) {
    if (finding.index.empty()) return;
    out_ += "<p>Correlation of metrics with " +
            std::string(finding.index == "ipc" ? "instructions per cycle"
                                               : "the processing speed (no data on instructions per cycle)") +
            " over " + std::to_string(finding.metrics.rows) + (finding.index == "ipc" ? " samples" : " tasks") +
            "; the first principal component explains " + jobs::percent_text(finding.metrics.explained) +
            " of them. These have 80 % of the sum:</p>\n";
    std::vector<command_line::Row> rows = {{"metric", "resource", "correlation", "loading"}};
    for (size_t i = 0; i < std::min(finding.metrics.leading, kMaxMetrics); ++i) {
      const jobs::Coefficient &one = finding.metrics.all[i];
      rows.push_back({one.name, std::string(jobs::resource_text(jobs::resource_of(one.name))),
                      jobs::coefficient_text(one.correlation), jobs::coefficient_text(one.loading)});
    }
    add_table(out_, rows, 2);
    if (finding.metrics.leading > kMaxMetrics)
      out_ += "<p>and " + std::to_string(finding.metrics.leading - kMaxMetrics) + " more</p>\n";
  }

  void add_jobs() {
    out_ += "<h2>Jobs</h2>\n";
    std::vector<command_line::Row> rows = {{"job", "outcome", "tasks", "failed", "killed", "seconds", "MiB"}};
    for (const jobs::JobTotals &job : all_.totals)
      rows.push_back({job_text(data_, job.job), std::string(outcome_text(data_.jobs[job.job].outcome)), std::to_string(job.tasks),
                      std::to_string(job.failed), std::to_string(job.killed), job.seconds > 0 ? jobs::short_text(job.seconds) : "",
                      number_text(job.bytes / (1 << 20))});
    add_table(out_, rows, 2);
  }

  void add_change() {
    if (!report_.change) return;
    out_ += "<h2>Before and after</h2>\n<p>Before: " + xml_text(job_text(data_, report_.change->before)) +
            "; after: " + xml_text(job_text(data_, report_.change->after)) + "</p>\n";
    if (const auto less = shorter(report_)) out_ += "<p>The run took " + time_text(*less) + " before.</p>\n";
    const std::vector<jobs::Compared> speeds = compare(all_, report_.change->before, report_.change->after);
    if (!speeds.empty()) out_ += change_of(data_, speeds);
  }

  // Groups with findings come first.
  void add_pictures() {
    std::set<size_t> named;
    for (const jobs::Finding &finding : all_.findings) {
      if (finding.kind == jobs::Finding::Kind::region || finding.kind == jobs::Finding::Kind::rule) continue;
      named.insert(finding.group);
      for (const jobs::SlowPhase &phase : finding.phases) named.insert(phase.group);
    }
    std::vector<size_t> order(named.begin(), named.end());
    for (size_t i = 0; i < all_.groups.size(); ++i)
      if (!named.contains(i)) order.push_back(i);
    size_t drawn = 0, omitted = 0;
    for (const size_t i : order) {
      const jobs::Group &group = all_.groups[i];
      if (group.entries.empty()) continue;
      if (drawn == kMaxPictures) {
        ++omitted;
        continue;
      }
      if (drawn++ == 0) out_ += "<h2>Grades</h2>\n";
      out_ += "<h3>" + xml_text(job_text(data_, group.job) + " " + group_text(data_, group)) + "</h3>\n" +
              scatter_of(data_, group) + slowest_by_node(data_, group);
    }
    if (omitted > 0) out_ += "<p>" + std::to_string(omitted) + " more stages and phases have no chart.</p>\n";
  }

  void add_nodes() {
    if (!all_.nodes.empty()) out_ += "<h2>Nodes</h2>\n";
    std::vector<command_line::Row> rows = {{"job", "node", "top 20 %", "bottleneck", "tasks", "lowest", "lower", "remote"}};
    for (const jobs::Node &node : all_.nodes) {
      const auto share = node.remote_share();
      rows.push_back({job_text(data_, node.job), data_.name(node.host), node.top ? "yes" : "", node.bottleneck ? "yes" : "",
                      std::to_string(node.tasks), std::to_string(node.lowest), std::to_string(node.lower),
                      share ? jobs::percent_text(*share) : ""});
    }
    add_table(out_, rows, 4);
  }

  void add_phases() {
    if (!all_.ranks.empty())
      out_ +=
          "<h2>Phases</h2>\n<p>Correlation of the speed of each phase with that of the task, over all tasks of the stage.</p>\n";
    std::vector<command_line::Row> rows = {
        {"job", "phase", "top 20 %", "tasks", "seconds", "KiB/s", "of the time", "correlation", "loading"}};
    for (const jobs::PhaseRank &rank : all_.ranks) {
      const jobs::Group &group = all_.groups[rank.group];
      rows.push_back({job_text(data_, group.job), group_text(data_, group), rank.bottleneck ? "yes" : "",
                      std::to_string(tasks_of(group)), number_text(group.seconds), number_text(speed_of(group, group.speed)),
                      std::isnan(rank.share) ? "" : jobs::percent_text(rank.share), jobs::coefficient_text(rank.correlation),
                      jobs::coefficient_text(rank.loading)});
    }
    add_table(out_, rows, 3);
  }

  void add_regions() {
    if (!all_.regions.empty()) out_ += "<h2>Code regions</h2>\n";
    std::vector<command_line::Row> rows = {{"job", "region", "class", "critical", "runs", "seconds", "of all", "of tasks"}};
    for (const jobs::RegionCost &region : all_.regions)
      rows.push_back({job_text(data_, region.job), data_.name(region.name), std::string(severity_text(region.severity)),
                      region.critical ? "yes" : "", std::to_string(region.count), jobs::short_text(region.seconds),
                      jobs::percent_text(region.share), std::isnan(region.of_tasks) ? "" : jobs::percent_text(region.of_tasks)});
    add_table(out_, rows, 4);
  }

  void add_tasks() {
    const TaskRows tasks = bottleneck_tasks(all_);
    if (tasks.all == 0) return;
    out_ += "<h2>Bottleneck tasks</h2>\n<p>Tasks that findings name.</p>\n";
    add_table(out_, tasks.rows, tasks.rows[0].size() - 2);
    add_how_many(out_, tasks.rows.size() - 1, tasks.all);
  }

  void add_notes() {
    if (all_.notes.empty()) return;
    out_ += "<h2>Notes</h2>\n<ul>\n";
    for (const std::string &note : all_.notes) out_ += "<li>" + xml_text(note) + "</li>\n";
    out_ += "</ul>\n";
  }

  const Report &report_;
  const jobs::Analysis &all_;
  const jobs::JobData &data_;
  std::string out_;
};

}  // namespace

std::string as_page(const Report &report) {
  return Page(report).write();
}

}  // namespace atalaya::bottleneck
