// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/bottleneck/path.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/base/text/json_writer.h"
#include "core/base/text/safe_text.h"
#include "plugins/commands/bottleneck/output.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::bottleneck {
namespace {

using core::JsonObject;

using core::visible;

constexpr size_t kMaxSteps = 30;                    // maximum rows of the table
constexpr size_t kMaxTasks = 500;                   // maximum tasks whose waits are read
constexpr int64_t kLongestWindow = 60'000'000'000;  // windows of stacks may start before a task and end after it

double seconds_of(int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

double length_of(const PathReport &report) {
  return seconds_of(report.path.end_ns - report.path.begin_ns);
}

std::string id_of(const jobs::Task &task) {
  return std::string(task.attempt().empty() ? task.task() : task.attempt());
}

std::vector<uint32_t> path_tasks(const jobs::CriticalPath &path) {
  std::vector<uint32_t> tasks;
  for (const jobs::PathStep &step : path.steps)
    if (step.kind == jobs::PathStep::Kind::task) tasks.push_back(step.task);
  return tasks;
}

// Reads the waits of the path's tasks from off-CPU stacks of the source perf.
std::map<std::string, int64_t> waits_of(const jobs::JobData &data, const jobs::CriticalPath &path, store::Store &store,
                                        query::Budget &budget) {
  std::map<std::string, int64_t> waits;
  std::vector<uint32_t> tasks = path_tasks(path);
  if (tasks.empty() || tasks.size() > kMaxTasks) return waits;
  store::TagFilter attempts{"attempt", {}};
  for (const uint32_t task : tasks) attempts.patterns.push_back(query::exact_pattern(id_of(data.tasks[task])));
  store::Selection selection;
  selection.tags = {attempts, {"profile", {"offcpu"}}, {"reason", {"*"}}};
  selection.range = {path.begin_ns - kLongestWindow, path.end_ns + kLongestWindow};
  store.stacks(selection, [&](const store::Stack &stack) {
    budget.work(1);
    for (const store::Field &field : stack.fields)
      if (field.name == "profile.ns")
        waits[stack.tags.at("reason")] += field.is_count ? field.count : static_cast<int64_t>(field.value);
  });
  return waits;
}

std::string seconds_text(int64_t ns) {
  return jobs::short_text(seconds_of(ns));
}

void add_parts(std::string &out, const PathReport &report) {
  std::vector<command_line::Row> rows = {{"part", "seconds", "of the job"}};
  for (const jobs::PathPart &part : report.path.parts)
    rows.push_back({visible(part.name), seconds_text(part.ns), jobs::percent_text(seconds_of(part.ns) / length_of(report))});
  rows.push_back({"all", jobs::short_text(length_of(report)), jobs::percent_text(1)});
  out += command_line::as_columns(rows);
}

void add_steps(std::string &out, const PathReport &report) {
  const jobs::JobData &data = report.data;
  std::vector<command_line::Row> rows = {{"at", "seconds", "task", "stage", "node", "began when"}};
  for (const jobs::PathStep &step : report.path.steps) {
    if (rows.size() > kMaxSteps) break;
    const jobs::Task &task = data.tasks[step.task];
    const std::string at = seconds_text(step.begin_ns - report.path.begin_ns), length = seconds_text(step.end_ns - step.begin_ns);
    if (step.kind == jobs::PathStep::Kind::gap) {
      rows.push_back({at, length, "(no task)", "", "", ""});
      continue;
    }
    const char *after = step.after == jobs::PathStep::After::slot    ? "its slot became free"
                        : step.after == jobs::PathStep::After::stage ? "another stage ended"
                                                                     : "the job started";
    rows.push_back({at, length, visible(id_of(task)), visible(data.name(task.stage)), visible(data.name(task.host)), after});
  }
  const size_t all = report.path.steps.size();
  out += "\nSteps";
  if (rows.size() - 1 < all)
    out += " (" + std::to_string(rows.size() - 1) + " of " + std::to_string(all) + "; --format json has all)";
  out += "\n" + command_line::as_columns(rows);
}

void add_waits(std::string &out, const PathReport &report) {
  if (report.waits.empty()) return;
  std::vector<std::pair<std::string, int64_t>> waits(report.waits.begin(), report.waits.end());
  std::stable_sort(waits.begin(), waits.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
  std::vector<command_line::Row> rows = {{"reason", "seconds"}};
  for (const auto &[reason, ns] : waits) rows.push_back({visible(reason), seconds_text(ns)});
  out += "\nWaits of the threads of these tasks\n" + command_line::as_columns(rows);
}

void add_what_if(std::string &out, const PathReport &report) {
  if (!report.what_if) return;
  const jobs::WhatIf &all = *report.what_if;
  std::vector<command_line::Row> rows = {{"if", "seconds", "change"}};
  for (const jobs::Prediction &one : all.predictions)
    rows.push_back({visible(one.change), jobs::short_text(one.seconds), jobs::percent_text(one.seconds / all.observed - 1)});
  out += "\nWhat if: predicted length of the job\n" + command_line::as_columns(rows);
  if (all.is_rough)
    out += "note: these are rough: the replay of the recorded tasks takes " + jobs::short_text(all.replayed) + " s, the job took " +
           jobs::short_text(all.observed) + " s\n";
}

void add_step(const PathReport &report, const jobs::PathStep &step, core::JsonWriter &out) {
  const jobs::JobData &data = report.data;
  const bool is_task = step.kind == jobs::PathStep::Kind::task;
  const jobs::Task &task = data.tasks[step.task];
  JsonObject one(out);
  one.text("kind", is_task ? "task" : "gap");
  one.number("at", seconds_of(step.begin_ns - report.path.begin_ns));
  one.number("seconds", seconds_of(step.end_ns - step.begin_ns));
  if (!is_task) return;
  one.text("task", id_of(task));
  one.text("stage", data.name(task.stage));
  one.text("node", data.name(task.host));
  one.text("after", after_text(step.after));
}

void add_what_if(const jobs::WhatIf &all, core::JsonWriter &out) {
  JsonObject what_if(out);
  what_if.text("schedule", all.is_pinned ? "pinned" : "balanced");
  what_if.number("replayed", all.replayed);
  what_if.list("predictions", all.predictions, [&](const jobs::Prediction &prediction) {
    JsonObject one(out);
    one.text("change", prediction.change);
    one.number("seconds", prediction.seconds);
  });
}

}  // namespace

PathReport path_report(const jobs::JobData &data, uint32_t job, store::Store &store, query::Budget &budget) {
  auto path = critical_path(data, job);
  if (!path)
    throw query::Wrong("--critical-path: job " + data.name(data.jobs[job].id) + " has no ended task in this range, or still runs");
  const double seconds = seconds_of(path->end_ns - path->begin_ns);
  auto waits = waits_of(data, *path, store, budget);
  return {data, job, std::move(*path), what_if(data, job, seconds), std::move(waits)};
}

std::string as_table(const PathReport &report) {
  std::string out = errors_text(report.data);
  out += "Critical path of " + visible(job_text(report.data, report.job)) + ": " + jobs::short_text(length_of(report)) + " s\n";
  add_parts(out, report);
  add_steps(out, report);
  add_waits(out, report);
  add_what_if(out, report);
  return out;
}

std::string as_json(const PathReport &report) {
  const jobs::JobData &data = report.data;
  core::JsonWriter out;
  {
    JsonObject all(out);
    all.text("job", data.name(data.jobs[report.job].id));
    all.text("outcome", outcome_text(data.jobs[report.job].outcome));
    all.number("seconds", length_of(report));
    all.list("parts", report.path.parts, [&](const jobs::PathPart &part) {
      JsonObject one(out);
      one.text("part", part.name);
      one.number("seconds", seconds_of(part.ns));
    });
    all.list("steps", report.path.steps, [&](const jobs::PathStep &step) { add_step(report, step, out); });
    all.list("waits", report.waits, [&](const auto &wait) {
      JsonObject one(out);
      one.text("reason", wait.first);
      one.number("seconds", seconds_of(wait.second));
    });
    if (report.what_if) add_what_if(*report.what_if, all.key("whatIf"));
  }
  return out.take() + '\n';
}

}  // namespace atalaya::bottleneck
