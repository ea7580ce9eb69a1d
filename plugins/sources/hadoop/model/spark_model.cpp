// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/model/spark_model.h"

#include <algorithm>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/protocols/jhist/jhist_reader.h"
#include "plugins/shared/protocols/sparklog/spark_metrics.h"
#include "plugins/sources/hadoop/errors.h"
#include "plugins/sources/hadoop/model/mapreduce_model.h"

namespace atalaya::hadoop {
namespace {

using simdjson::SUCCESS;

constexpr std::string_view kPrefix = "SparkListener";
constexpr size_t kMaxSettings = 10'000;

// The event's name without parsing the whole line; empty if the line is not in Spark's format.
std::string_view event_of(std::string_view line) {
  constexpr std::string_view kBegin = "{\"Event\":\"";
  if (!line.starts_with(kBegin)) return {};
  line.remove_prefix(kBegin.size());
  return line.substr(0, line.find('"'));
}

bool is_of_interest(std::string_view event) {
  for (const char *one : {"TaskStart", "TaskEnd", "StageSubmitted", "StageCompleted", "JobStart", "JobEnd", "ApplicationStart",
                          "ApplicationEnd", "EnvironmentUpdate", "ExecutorAdded", "ExecutorRemoved"})
    if (event == one) return true;
  return false;
}

int64_t time_of(const io::JsonObject &of, std::string_view key) {
  const auto time = io::integer_of(of, key);
  return time && *time > 0 && *time <= INT64_MAX / 1'000'000 ? *time : 0;
}

std::string id_text(std::string_view text) {
  return std::string(text.substr(0, protocols::kMaxId));
}

protocols::Outcome outcome_of(const io::JsonObject &event, const io::JsonObject &info) {
  const auto reason = io::object_of(event, "Task End Reason");
  const std::string_view word = reason ? io::text_of(*reason, "Reason") : std::string_view{};
  if (word == "Success") return protocols::Outcome::succeeded;
  bool killed = word == "TaskKilled";
  if (const auto flag = io::member(info, "Killed"); flag && !killed && flag->get(killed) != SUCCESS) killed = false;
  return killed ? protocols::Outcome::killed : protocols::Outcome::failed;
}

// "[SPARK_JOB_CANCELLED] Job 21 cancelled ...", before Spark 3.4 "Job 21 cancelled ..."
bool is_cancelled(std::string_view message) {
  if (message.starts_with("[SPARK_JOB_CANCELLED]")) return true;
  if (!message.starts_with("Job ")) return false;
  const size_t after = message.find_first_not_of("0123456789", 4);
  return after != std::string_view::npos && message.substr(after).starts_with(" cancelled");
}

// Spark itself removes idle executors, those of a host that leaves, and all at the end.
bool is_wanted_removal(std::string_view reason) {
  return reason.find("killed by driver") != std::string_view::npos || reason.find("decommission") != std::string_view::npos;
}

}  // namespace

SparkModel::SparkModel(const Topology &topology, const Facts &facts, std::string_view fallback)
    : topology_(topology), facts_(facts) {
  job_.text = "job";
  job_.framework = "spark";
  job_.job = id_text(fallback);
}

bool SparkModel::handle_by_prefix(std::string_view start) {
  const std::string_view name = event_of(start);
  if (name == "SparkListenerJobStart") {  // not parsed: it may be long
    job_start();
    return true;
  }
  return !name.empty() && (!name.starts_with(kPrefix) || !is_of_interest(name.substr(kPrefix.size())));
}

core::Status SparkModel::take(std::string_view line, protocols::Spans &out) {
  if (handle_by_prefix(line)) return core::Done{};
  io::JsonObject event;
  if (parser_.parse(line.data(), line.size()).get(event) != SUCCESS) return core::Error{"not JSON"};
  std::string_view name = io::text_of(event, "Event");
  if (name.empty()) return core::Error{"not an event of Spark"};
  if (!name.starts_with(kPrefix)) return core::Done{};
  name.remove_prefix(kPrefix.size());
  if (name == "TaskStart") return task_start(event);
  if (name == "TaskEnd") return task_end(event, out);
  if (name == "StageCompleted") return stage_completed(event, out);
  if (name == "ApplicationEnd") return application_end(event, out);
  if (name == "StageSubmitted") {
    stage_submitted(event);
  } else if (name == "JobEnd") {
    job_end(event, out);
  } else if (name == "JobStart") {
    job_start();
  } else if (name == "ExecutorAdded") {
    executor_added(event);
  } else if (name == "ExecutorRemoved") {
    executor_removed(event, out);
  } else if (name == "ApplicationStart") {
    application_start(event, out);
  } else if (name == "EnvironmentUpdate") {
    environment(event);
    if (job_id_known_) append_facts(out);
  }
  return core::Done{};
}

void SparkModel::application_start(const io::JsonObject &event, protocols::Spans &out) {
  if (job_id_known_) return;
  if (const std::string_view id = io::text_of(event, "App ID"); !id.empty()) job_.job = id_text(id);
  job_.name = id_text(io::text_of(event, "App Name"));
  job_.start_ms = time_of(event, "Timestamp");
  if (const std::string_view run = io::text_of(event, "App Attempt ID"); !run.empty() && run != "1") run_ = id_text(run) + "/";
  job_id_known_ = job_.start_ms > 0;
  if (job_id_known_) append_facts(out);
}

core::Status SparkModel::application_end(const io::JsonObject &event, protocols::Spans &out) {
  ended_ = true;
  const int64_t end = time_of(event, "Timestamp");
  if (!job_id_known_ || end < job_.start_ms) return core::Error{"the application ends without a begin"};
  // A log may contain this event more than once: running spans are copied only once.
  if (!std::exchange(closed_, true)) close(end, out);
  job_.duration_ms = end - job_.start_ms;
  const auto code = io::integer_of(event, "ExitCode");
  job_.outcome = outcome(code);
  if (code.value_or(0) != 0) append_error(job_, "the application ended with exit code " + std::to_string(*code), out);
  out.push_back(job_);
  return core::Done{};
}

// The exit code (since Spark 4) is 0 also if a program calls stop() while an exception ends it: so a failed last job has
// precedence. If the application continued after a failed job, only the exit code shows whether it failed.
std::optional<protocols::Outcome> SparkModel::outcome(std::optional<int64_t> exit_code) const {
  if (exit_code.value_or(0) != 0) return protocols::Outcome::failed;
  if (unhandled_) return unhandled_;
  return exit_code || !any_failed_ ? std::optional(protocols::Outcome::succeeded) : std::nullopt;
}

// Running spans end with the application. A running task of a completed stage ended by the stage's end, without a logged event: its
// outcome is unknown. A later end event still replaces this end.
void SparkModel::close(int64_t end, protocols::Spans &out) const {
  for (const auto &[id, one] : executors_) {
    if (end < one.span.start_ms) continue;
    close_with_job(executor_span(one.span), end, out);
    out.back().outcome = protocols::Outcome::succeeded;
  }
  for (const auto &[id, one] : stages_) close_with_job(one.span, end, out);
  for (const auto &[id, one] : tasks_) {
    const auto stage = stage_ends_.find(one.span.stage);
    const bool completed = stage != stage_ends_.end() && stage->second >= one.span.start_ms;
    close_with_job(one.span, completed ? stage->second : end, out);
    if (completed) out.back().outcome.reset();
  }
}

// A new job means that the application handled the failure of earlier jobs.
void SparkModel::job_start() {
  unhandled_.reset();
}

void SparkModel::job_end(const io::JsonObject &event, protocols::Spans &out) {
  const auto result = io::object_of(event, "Job Result");
  if (!result || io::text_of(*result, "Result") == "JobSucceeded") return;
  const auto exception = io::object_of(*result, "Exception");
  const std::string_view message = exception ? io::text_of(*exception, "Message") : std::string_view{};
  any_failed_ = true;
  const bool is_killed = is_cancelled(message);
  if (!is_killed) unhandled_ = protocols::Outcome::failed;
  if (is_killed && message.find("SparkContext was shut down") != std::string_view::npos) unhandled_ = protocols::Outcome::killed;
  protocols::Span broken = job_;
  broken.outcome = is_killed ? protocols::Outcome::killed : protocols::Outcome::failed;
  broken.duration_ms = time_of(event, "Completion Time") - job_.start_ms;
  const std::string number = std::to_string(io::integer_of(event, "Job ID").value_or(0));
  append_error(broken, "job " + run_ + number + ": " + std::string(message.empty() ? "no reason logged" : message), out);
}

void SparkModel::executor_added(const io::JsonObject &event) {
  const auto info = io::object_of(event, "Executor Info");
  const std::string_view id = io::text_of(event, "Executor ID");
  if (!info || id.empty() || executors_.size() >= kMaxOpen) return;
  protocols::Span span;
  span.text = "executor";
  span.framework = "spark";
  span.executor = id_text(id);
  span.slots = io::integer_of(*info, "Total Cores");
  span.host = topology_.host(io::text_of(*info, "Host").substr(0, protocols::kMaxId));
  span.start_ms = time_of(event, "Timestamp");
  const std::string key = span.executor;
  if (span.start_ms > 0) executors_.insert_or_assign(key, Running{std::move(span)});
}

// A log may name the application and its settings after the first executors.
protocols::Span SparkModel::executor_span(const protocols::Span &added) const {
  protocols::Span span = added;
  span.job = job_.job;
  if (span.slots) span.slots = std::max<int64_t>(*span.slots / cores_of_task_, 1);
  return span;
}

void SparkModel::executor_removed(const io::JsonObject &event, protocols::Spans &out) {
  const auto added = executors_.find(id_text(io::text_of(event, "Executor ID")));
  if (added == executors_.end()) return;
  protocols::Span span = executor_span(added->second.span);
  executors_.erase(added);
  span.duration_ms = std::max<int64_t>(time_of(event, "Timestamp") - span.start_ms, 0);
  const std::string_view reason = io::text_of(event, "Removed Reason");
  span.outcome = is_wanted_removal(reason) ? protocols::Outcome::succeeded : protocols::Outcome::failed;
  if (span.outcome == protocols::Outcome::failed) append_error(span, reason, out);
  out.push_back(std::move(span));
}

void SparkModel::environment(const io::JsonObject &event) {
  const auto settings = io::object_of(event, "Spark Properties");
  if (!settings) return;
  cores_of_task_ = std::max<int64_t>(core::parse_number(io::text_of(*settings, "spark.task.cpus")).value_or(1), 1);
  for (const auto field : *settings) {
    std::string_view value;
    if (field.value.get(value) != SUCCESS || settings_.size() >= kMaxSettings || !facts_.wants(field.key, value)) continue;
    protocols::Span fact;
    fact.text = "fact";
    fact.framework = "spark";
    fact.duration_ms = 0;
    fact.fact = field.key;
    fact.value = value;
    settings_.push_back(std::move(fact));
  }
}

void SparkModel::append_facts(protocols::Spans &out) {
  for (protocols::Span &fact : settings_) {
    fact.job = job_.job;
    fact.start_ms = job_.start_ms;
    out.push_back(std::move(fact));
  }
  settings_.clear();
}

// "3", "3.1" for a retry, "2/3" in the application's second run.
std::string SparkModel::stage_id(int64_t stage, int64_t attempt) const {
  return run_ + std::to_string(stage) + (attempt > 0 ? "." + std::to_string(attempt) : "");
}

bool SparkModel::stage_span(const io::JsonObject &info, protocols::Span &out) const {
  const auto id = io::integer_of(info, "Stage ID");
  if (!id) return false;
  out.text = "stage";
  out.framework = "spark";
  out.job = job_.job;
  out.name = id_text(io::text_of(info, "Stage Name"));
  out.stage = stage_id(*id, io::integer_of(info, "Stage Attempt ID").value_or(0));
  out.start_ms = time_of(info, "Submission Time");
  return true;
}

void SparkModel::stage_submitted(const io::JsonObject &event) {
  const auto info = io::object_of(event, "Stage Info");
  protocols::Span span;
  if (!info || !stage_span(*info, span) || span.start_ms == 0 || stages_.size() >= kMaxOpen) return;
  stages_.insert_or_assign(span.stage, Running{span});
}

core::Status SparkModel::stage_completed(const io::JsonObject &event, protocols::Spans &out) {
  const auto info = io::object_of(event, "Stage Info");
  protocols::Span span;
  if (!info || !stage_span(*info, span)) return core::Error{"a stage ends without an id"};
  const auto begun = stages_.find(span.stage);
  if (begun != stages_.end()) {
    span = std::move(begun->second.span);
    stages_.erase(begun);
  }
  const int64_t end = time_of(*info, "Completion Time");
  if (span.start_ms == 0 || end < span.start_ms)
    return core::Error{"stage " + span.stage + " has no start, or ends before its start"};
  if (stage_ends_.size() < kMaxOpen) stage_ends_.insert_or_assign(span.stage, end);
  span.duration_ms = end - span.start_ms;
  const std::string_view failure = io::text_of(*info, "Failure Reason");
  span.outcome = failure.empty()         ? protocols::Outcome::succeeded
                 : is_cancelled(failure) ? protocols::Outcome::killed
                                         : protocols::Outcome::failed;
  append_error(span, failure, out);
  read_accumulables(*info, "Value", true, span.counters);
  out.push_back(std::move(span));
  return core::Done{};
}

bool SparkModel::task_span(const io::JsonObject &event, const io::JsonObject &info, protocols::Span &out) const {
  const auto stage = io::integer_of(event, "Stage ID"), index = io::integer_of(info, "Index"), id = io::integer_of(info, "Task ID");
  out.start_ms = time_of(info, "Launch Time");
  if (!stage || !index || !id || out.start_ms == 0) return false;
  out.text = "task";
  out.framework = "spark";
  out.job = job_.job;
  out.stage = stage_id(*stage, io::integer_of(event, "Stage Attempt ID").value_or(0));
  out.task = out.stage + "." + std::to_string(*index);
  out.attempt = run_ + std::to_string(*id);
  out.executor = id_text(io::text_of(info, "Executor ID"));
  out.host = topology_.host(io::text_of(info, "Host").substr(0, protocols::kMaxId));
  const std::string_view locality = io::text_of(info, "Locality");
  if (locality != "NO_PREF") out.locality = topology_.locality_from_level(locality, out.host, {});
  return true;
}

core::Status SparkModel::task_start(const io::JsonObject &event) {
  const auto info = io::object_of(event, "Task Info");
  protocols::Span span;
  if (tasks_.size() >= kMaxOpen) return core::Error{"too many open tasks"};
  if (!info || !task_span(event, *info, span)) return core::Error{"a task begins without an id or time"};
  const std::string key = span.attempt;
  tasks_.insert_or_assign(key, Running{std::move(span)});
  return core::Done{};
}

core::Status SparkModel::task_end(const io::JsonObject &event, protocols::Spans &out) {
  const auto info = io::object_of(event, "Task Info");
  protocols::Span span;
  if (!info || !task_span(event, *info, span)) return core::Error{"a task ends without an id or time"};
  if (const auto begun = tasks_.find(span.attempt); begun != tasks_.end()) {
    span = std::move(begun->second.span);
    tasks_.erase(begun);
  }
  const int64_t end = time_of(*info, "Finish Time");
  if (end < span.start_ms) return core::Error{"task " + span.attempt + " ends before its begin"};
  span.duration_ms = end - span.start_ms;
  span.outcome = outcome_of(event, *info);
  if (const auto metrics = io::object_of(event, "Task Metrics")) {
    measure_task(*metrics, span);
    read_metrics("Task Metrics", *metrics, span.counters);
    add_task_phases(*metrics, span, time_of(*info, "Getting Result Time"), out);
  }
  if (const auto executor = io::object_of(event, "Task Executor Metrics"))
    read_metrics("Task Executor Metrics", *executor, span.counters);
  read_accumulables(*info, "Update", false, span.counters);
  if (const auto reason = io::object_of(event, "Task End Reason"); reason && span.outcome != protocols::Outcome::succeeded)
    append_error(span, end_reason(*reason), out);
  out.push_back(std::move(span));
  return core::Done{};
}

void SparkModel::open(protocols::Spans &out) {
  if (ended_) return;
  if (job_id_known_ && !job_reported_) out.push_back(job_);
  job_reported_ = job_id_known_;
  const auto report = [&](auto &running, const auto &span_of) {
    for (auto &[id, one] : running) {
      if (!one.reported) out.push_back(span_of(one.span));
      one.reported = true;
    }
  };
  const auto as_it_is = [](const protocols::Span &span) -> const protocols::Span & { return span; };
  if (job_id_known_) report(executors_, [&](const protocols::Span &span) { return executor_span(span); });
  report(stages_, as_it_is);
  report(tasks_, as_it_is);
}

}  // namespace atalaya::hadoop
