// SPDX-License-Identifier: Apache-2.0
// Jobs, and the tasks, critical path, slow nodes and findings of one: the data of the command bottleneck.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/base/text/json_writer.h"
#include "plugins/commands/serve/page/page_api.h"
#include "plugins/shared/analysis/jobs/findings/analyse.h"
#include "plugins/shared/analysis/jobs/read/read_jobs.h"
#include "plugins/shared/analysis/jobs/schedule/critical_path.h"
#include "plugins/shared/analysis/jobs/schedule/what_if.h"

namespace atalaya::serve {
namespace {

using jobs::Analysis;
using jobs::JobData;

constexpr size_t kMaxJobs = 1000, kMaxTasks = 10'000;

// The time from the first start to the last end, and the number of tasks; a part that has not ended has no end.
struct JobExtent {
  int64_t from_ns = std::numeric_limits<int64_t>::max();
  int64_t to_ns = 0;
  bool open = false;
  size_t tasks = 0;

  void add(const jobs::Work &work) {
    from_ns = std::min(from_ns, work.start_ns);
    open = open || work.duration_ns < 0;
    to_ns = std::max(to_ns, work.duration_ns < 0 ? work.start_ns : work.end_ns());
  }
};

std::vector<JobExtent> extents_of(const JobData &data) {
  std::vector<JobExtent> extents(data.jobs.size());
  for (const jobs::Task &task : data.tasks) {
    extents[task.job].add(task.work);
    ++extents[task.job].tasks;
  }
  for (size_t i = 0; i < data.jobs.size(); ++i) {
    if (!data.jobs[i].has_span) continue;
    const size_t tasks = extents[i].tasks;
    extents[i] = {};  // the span of the job itself is more exact
    extents[i].add(data.jobs[i].work);
    extents[i].tasks = tasks;
  }
  return extents;
}

void write_end(core::JsonWriter &json, bool open, int64_t to_ns) {
  json.key("to");
  if (open)
    json.null();
  else
    json.milliseconds(to_ns);
}

void write_job(core::JsonWriter &json, const JobData &data, size_t index, const JobExtent &extent) {
  const jobs::Job &job = data.jobs[index];
  const std::string_view state = extent.open ? "running" : jobs::outcome_text(job.outcome);
  json.object().key("id").text(data.name(job.id)).key("name").text_or_null(data.name(job.name));
  json.key("kind").text_or_null(data.name(job.framework)).key("from").milliseconds(extent.from_ns);
  write_end(json, extent.open, extent.to_ns);
  json.key("state").text_or_null(state).key("tasks").count(extent.tasks).end_object();
}

void write_phases(core::JsonWriter &json, const JobData &data, uint32_t task, size_t &next) {
  json.key("phases").list();
  for (; next < data.phases.size() && data.phases[next].task <= task; ++next) {
    const jobs::Phase &phase = data.phases[next];
    if (phase.task < task) continue;
    json.object().key("name").text(data.name(phase.phase)).key("from").milliseconds(phase.work.start_ns);
    write_end(json, phase.work.duration_ns < 0, phase.work.end_ns());
    json.end_object();
  }
  json.end_list();
}

void write_task(core::JsonWriter &json, const Analysis &all, uint32_t index, bool on_path, size_t &next_phase) {
  const JobData &data = all.data;
  const jobs::Task &task = data.tasks[index];
  json.object().key("id").text(task.task()).key("attempt").text_or_null(task.attempt());
  json.key("node").text_or_null(data.name(task.host)).key("stage").text_or_null(data.name(task.stage));
  json.key("from").milliseconds(task.work.start_ns);
  write_end(json, task.work.duration_ns < 0, task.work.end_ns());
  json.key("state").text_or_null(jobs::outcome_text(task.outcome));
  // Grades of speed from 1 to 5; 5 is the slowest.
  json.key("grade");
  if (std::isnan(all.speeds[index]))
    json.null();
  else
    json.integer(5 - static_cast<int64_t>(all.grades[index]));
  json.key("slow").boolean(all.bottlenecks[index]).key("on_path").boolean(on_path);
  write_phases(json, data, index, next_phase);
  json.end_object();
}

// A step of the critical path; a gap has no task.
void write_step(core::JsonWriter &json, const JobData &data, const jobs::PathStep &step) {
  const jobs::Task &task = data.tasks[step.task];
  const bool is_task = step.kind == jobs::PathStep::Kind::task;
  json.object().key("task").text_or_null(!is_task ? "" : task.attempt().empty() ? task.task() : task.attempt());
  json.key("after").text(jobs::after_text(step.after));
  json.key("from").milliseconds(step.begin_ns).key("to").milliseconds(step.end_ns).end_object();
}

// The parts of the critical path add up to the duration of the job.
void write_path(core::JsonWriter &json, const JobData &data, uint32_t job, const std::optional<jobs::CriticalPath> &path) {
  json.key("path");
  if (!path) {
    json.null();
    return;
  }
  const auto seconds = [](int64_t ns) { return static_cast<double>(ns) / 1e9; };
  const double length = seconds(path->end_ns - path->begin_ns);
  json.object().key("seconds").number(length).key("parts").list();
  for (const jobs::PathPart &part : path->parts)
    json.object().key("name").text(part.name).key("seconds").number(seconds(part.ns)).end_object();
  json.end_list().key("steps").list();
  for (const jobs::PathStep &step : path->steps) write_step(json, data, step);
  json.end_list().key("predictions").list();
  const auto what_if = jobs::what_if(data, job, length);
  for (const jobs::Prediction &one : what_if ? what_if->predictions : std::vector<jobs::Prediction>())
    json.object().key("change").text(one.change).key("seconds").number(one.seconds).end_object();
  json.end_list().key("rough").boolean(what_if && what_if->is_rough).end_object();
}

std::set<uint32_t> tasks_of(const std::optional<jobs::CriticalPath> &path) {
  std::set<uint32_t> tasks;
  if (!path) return tasks;
  for (const jobs::PathStep &step : path->steps)
    if (step.kind == jobs::PathStep::Kind::task) tasks.insert(step.task);
  return tasks;
}

// Tasks in the two lowest grades.
void write_slow_nodes(core::JsonWriter &json, const Analysis &all) {
  std::map<std::string, size_t> nodes;
  for (size_t i = 0; i < all.data.tasks.size(); ++i)
    if (!std::isnan(all.speeds[i]) && all.grades[i] <= jobs::Grade::lower) ++nodes[all.data.name(all.data.tasks[i].host)];
  std::vector<std::pair<size_t, std::string>> order;
  for (const auto &[node, count] : nodes) order.emplace_back(count, node);
  std::sort(order.begin(), order.end(),
            [](const auto &a, const auto &b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  json.key("slow_per_node").list();
  for (const auto &[count, node] : order) json.object().key("node").text(node).key("count").count(count).end_object();
  json.end_list();
}

void write_findings(core::JsonWriter &json, const Analysis &all) {
  json.key("findings").list();
  for (const jobs::Finding &finding : all.findings) {
    json.object().key("text").text(finding.summary).key("node").text_or_null(all.data.name(finding.host)).key("evidence").list();
    for (const std::string &evidence : finding.evidence) json.text(evidence);
    for (const jobs::Advice &advice : finding.advice) json.text("advice: " + advice_text(advice));
    json.end_list().end_object();
  }
  json.end_list().key("notes").list();
  for (const std::string &note : all.notes) json.text(note);
  json.end_list();
}

}  // namespace

std::string page_jobs(PageCall &call) {
  const JobData data = jobs::read_jobs({}, page_filters(call.request), call.range(), call.store, call.budget);
  const std::vector<JobExtent> extents = extents_of(data);
  std::vector<size_t> order;
  for (size_t i = 0; i < data.jobs.size(); ++i)
    if (data.jobs[i].has_span || extents[i].tasks > 0) order.push_back(i);
  // The latest first.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return extents[a].from_ns > extents[b].from_ns; });
  order.resize(std::min(order.size(), kMaxJobs));
  core::JsonWriter json;
  json.list();
  for (const size_t i : order) write_job(json, data, i, extents[i]);
  return json.end_list().take();
}

std::string page_job(PageCall &call) {
  const std::string id = call.request.text("id");
  if (id.empty()) throw query::Wrong("parameter id is missing");
  const auto maximum = static_cast<size_t>(page_count(call.request, "limit", kMaxTasks, 0, kMaxTasks));
  const query::Range any{0, call.now_ns};
  const Analysis all = jobs::analyse(jobs::read_jobs({id}, {}, any, call.store, call.budget), {}, call.store, call.budget);
  const std::vector<JobExtent> extents = extents_of(all.data);
  const auto job =
      std::find_if(all.data.jobs.begin(), all.data.jobs.end(), [&](const jobs::Job &one) { return all.data.name(one.id) == id; });
  if (job == all.data.jobs.end()) throw query::Wrong("job " + id + " has no tasks");
  const auto index = static_cast<size_t>(job - all.data.jobs.begin());
  core::JsonWriter json;
  write_job(json.object().key("job"), all.data, index, extents[index]);
  const auto path = jobs::critical_path(all.data, static_cast<uint32_t>(index));
  write_path(json, all.data, static_cast<uint32_t>(index), path);
  const std::set<uint32_t> on_path = tasks_of(path);
  json.key("tasks").list();
  size_t next_phase = 0;
  for (uint32_t i = 0; i < std::min(all.data.tasks.size(), maximum); ++i) write_task(json, all, i, on_path.contains(i), next_phase);
  json.end_list().key("more").boolean(all.data.tasks.size() > maximum);
  write_slow_nodes(json, all);
  write_findings(json, all);
  return json.end_object().take();
}

}  // namespace atalaya::serve
