// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/bottleneck/path.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/safe_text.h"
#include "plugins/commands/bottleneck/output.h"
#include "plugins/shared/analysis/bottleneck/resource.h"
#include "plugins/shared/analysis/query/pieces.h"

namespace atalaya::bottleneck {
namespace {

using core::visible;

constexpr size_t kMaxSteps = 30;                    // in a table
constexpr size_t kMaxTasks = 500;                   // whose waits are read
constexpr int64_t kLongestWindow = 60'000'000'000;  // the last stacks of a task are in a window that ends after it

double seconds_of(int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

double length_of(const PathReport &report) {
  return seconds_of(report.path.end_ns - report.path.begin_ns);
}

std::string id_of(const Task &task) {
  return std::string(task.attempt().empty() ? task.task() : task.attempt());
}

std::vector<uint32_t> tasks_of(const CriticalPath &path) {
  std::vector<uint32_t> tasks;
  for (const PathStep &step : path.steps)
    if (step.kind == PathStep::Kind::task) tasks.push_back(step.task);
  return tasks;
}

// Off-CPU stacks of the path's tasks, from the source perf.
std::map<std::string, int64_t> waits_of(const JobData &data, const CriticalPath &path, store::Store &store, query::Budget &budget) {
  std::map<std::string, int64_t> waits;
  std::vector<uint32_t> tasks = tasks_of(path);
  if (tasks.empty() || tasks.size() > kMaxTasks) return waits;
  store::TagFilter attempts{"attempt", {}};
  for (const uint32_t task : tasks) attempts.patterns.push_back(query::exactly(id_of(data.tasks[task])));
  store::Selection selection;
  selection.tags = {attempts, {"profile", {"offcpu"}}, {"reason", {"*"}}};
  selection.range = {path.begin_ns, path.end_ns + kLongestWindow};
  store.stacks(selection, [&](const store::Stack &stack) {
    budget.work(1);
    for (const store::Field &field : stack.fields)
      if (field.name == "profile.ns")
        waits[stack.tags.at("reason")] += field.is_count ? field.count : static_cast<int64_t>(field.value);
  });
  return waits;
}

std::string seconds_text(int64_t ns) {
  return short_text(seconds_of(ns));
}

void add_parts(std::string &out, const PathReport &report) {
  std::vector<query::Row> rows = {{"part", "seconds", "of the job"}};
  for (const PathPart &part : report.path.parts)
    rows.push_back({visible(part.name), seconds_text(part.ns), percent_text(seconds_of(part.ns) / length_of(report))});
  rows.push_back({"all", short_text(length_of(report)), percent_text(1)});
  out += query::as_columns(rows);
}

void add_steps(std::string &out, const PathReport &report) {
  const JobData &data = report.data;
  std::vector<query::Row> rows = {{"at", "seconds", "task", "stage", "node", "began when"}};
  for (const PathStep &step : report.path.steps) {
    if (rows.size() > kMaxSteps) break;
    const Task &task = data.tasks[step.task];
    const std::string at = seconds_text(step.begin_ns - report.path.begin_ns), length = seconds_text(step.end_ns - step.begin_ns);
    if (step.kind == PathStep::Kind::gap) {
      rows.push_back({at, length, "(no task)", "", "", ""});
      continue;
    }
    const char *after = step.after == PathStep::After::slot    ? "its slot became free"
                        : step.after == PathStep::After::stage ? "another stage ended"
                                                               : "the job started";
    rows.push_back({at, length, visible(id_of(task)), visible(data.name(task.stage)), visible(data.name(task.host)), after});
  }
  const size_t all = report.path.steps.size();
  out += "\nSteps";
  if (rows.size() - 1 < all)
    out += " (" + std::to_string(rows.size() - 1) + " of " + std::to_string(all) + "; --format json has all)";
  out += "\n" + query::as_columns(rows);
}

void add_waits(std::string &out, const PathReport &report) {
  if (report.waits.empty()) return;
  std::vector<std::pair<std::string, int64_t>> waits(report.waits.begin(), report.waits.end());
  std::stable_sort(waits.begin(), waits.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
  std::vector<query::Row> rows = {{"reason", "seconds"}};
  for (const auto &[reason, ns] : waits) rows.push_back({visible(reason), seconds_text(ns)});
  out += "\nWaits of the threads of these tasks\n" + query::as_columns(rows);
}

void add_what_if(std::string &out, const PathReport &report) {
  if (!report.what_if) return;
  const WhatIf &all = *report.what_if;
  std::vector<query::Row> rows = {{"if", "seconds", "change"}};
  for (const Prediction &one : all.predictions)
    rows.push_back({visible(one.change), short_text(one.seconds), percent_text(one.seconds / all.observed - 1)});
  out += "\nWhat if: predicted length of the job\n" + query::as_columns(rows);
  if (all.is_rough())
    out += "note: these are rough: the replay of the recorded tasks takes " + short_text(all.replayed) + " s, the job took " +
           short_text(all.observed) + " s\n";
}

void add_text(std::string &out, const char *key, std::string_view text) {
  ((out += '"') += key) += "\":";
  core::append_json_string(out, text);
}

void add_number(std::string &out, const char *key, double value) {
  ((out += ",\"") += key) += "\":";
  core::append_number(out, value);
}

// {..},{..}
template <class List, class Add>
void add_list(std::string &out, const char *key, const List &list, Add &&add) {
  ((out += ",\n\"") += key) += "\":[";
  const char *separator = "";
  for (const auto &one : list) {
    (out += separator) += '{';
    add(one);
    out += '}';
    separator = ",\n";
  }
  out += ']';
}

}  // namespace

PathReport path_report(const JobData &data, uint32_t job, store::Store &store, query::Budget &budget) {
  auto path = critical_path(data, job);
  if (!path)
    throw query::Wrong("--critical-path: job " + data.name(data.jobs[job].id) + " has no ended task in this range, or still runs");
  const double seconds = seconds_of(path->end_ns - path->begin_ns);
  auto waits = waits_of(data, *path, store, budget);
  return {data, job, std::move(*path), what_if(data, job, seconds), std::move(waits)};
}

std::string as_table(const PathReport &report) {
  std::string out =
      "Critical path of " + visible(job_text(report.data, report.job)) + ": " + short_text(length_of(report)) + " s\n";
  add_parts(out, report);
  add_steps(out, report);
  add_waits(out, report);
  add_what_if(out, report);
  return out;
}

std::string as_json(const PathReport &report) {
  const JobData &data = report.data;
  std::string out = "{";
  add_text(out, "job", data.name(data.jobs[report.job].id));
  add_number(out, "seconds", length_of(report));
  add_list(out, "parts", report.path.parts, [&](const PathPart &part) {
    add_text(out, "part", part.name);
    add_number(out, "seconds", seconds_of(part.ns));
  });
  add_list(out, "steps", report.path.steps, [&](const PathStep &step) {
    const bool is_task = step.kind == PathStep::Kind::task;
    const Task &task = data.tasks[step.task];
    add_text(out, "kind", is_task ? "task" : "gap");
    add_number(out, "at", seconds_of(step.begin_ns - report.path.begin_ns));
    add_number(out, "seconds", seconds_of(step.end_ns - step.begin_ns));
    if (!is_task) return;
    add_text(out += ',', "task", id_of(task));
    add_text(out += ',', "stage", data.name(task.stage));
    add_text(out += ',', "node", data.name(task.host));
    add_text(out += ',', "after", after_text(step.after));
  });
  add_list(out, "waits", report.waits, [&](const auto &wait) {
    add_text(out, "reason", wait.first);
    add_number(out, "seconds", seconds_of(wait.second));
  });
  if (report.what_if) {
    out += ",\n\"whatIf\":{\"schedule\":";
    out += report.what_if->is_pinned ? "\"pinned\"" : "\"balanced\"";
    add_number(out, "replayed", report.what_if->replayed);
    add_list(out, "predictions", report.what_if->predictions, [&](const Prediction &one) {
      add_text(out, "change", one.change);
      add_number(out, "seconds", one.seconds);
    });
    out += '}';
  }
  return out += "}\n";
}

}  // namespace atalaya::bottleneck
