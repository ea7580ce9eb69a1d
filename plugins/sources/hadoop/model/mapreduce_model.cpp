// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/model/mapreduce_model.h"

#include <algorithm>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/sources/hadoop/errors.h"

namespace atalaya::hadoop {
namespace {

// A span without a host would get the agent's host.
constexpr const char *kNoHost = "unknown";

constexpr size_t kMaxTasks = 1'000'000;  // waiting or running; further ones are ignored
constexpr size_t kMaxPlaces = 1024;      // bytes per task

// Returns "map", "reduce", "setup", "cleanup" or, for other types, "other"; empty if the event has no type.
std::string stage_of(std::string_view task_type) {
  if (task_type.starts_with("JOB_")) task_type.remove_prefix(4);
  for (const std::string_view known : {"MAP", "REDUCE", "SETUP", "CLEANUP", "TASK_CLEANUP"})
    if (task_type == known) return core::lower(task_type);
  return task_type.empty() ? "" : "other";
}

std::string_view cut(std::string_view text) {
  return text.substr(0, protocols::kMaxId);
}

protocols::Outcome outcome_of(std::string_view status) {
  if (status == "SUCCEEDED" || status == "SUCCESS") return protocols::Outcome::succeeded;
  return status == "KILLED" ? protocols::Outcome::killed : protocols::Outcome::failed;
}

// Returns a counter of the framework. Users' counters may have the same name in other groups.
std::optional<int64_t> task_counter(const protocols::Counters &counters, std::string_view name) {
  for (const protocols::Counter &one : counters)
    if (one.name == name &&
        (one.group == "org.apache.hadoop.mapreduce.TaskCounter" || one.group == "org.apache.hadoop.mapred.Task$Counter"))
      return one.value;
  return std::nullopt;
}

// Returns the input of a map: the bytes of its input format if counted, else those of all file systems except the local one, which
// has the spills.
std::optional<int64_t> input_bytes(const protocols::Counters &counters) {
  std::optional<int64_t> by_system;
  for (const protocols::Counter &one : counters) {
    if (one.name == "BYTES_READ" && one.group.find("FileInputFormat") != std::string::npos && one.value > 0) return one.value;
    if (one.name.ends_with("_BYTES_READ") && one.name != "FILE_BYTES_READ" &&
        one.group.find("FileSystemCounter") != std::string::npos && one.value >= 0)
      by_system = std::min(by_system.value_or(0), INT64_MAX - one.value) + one.value;
  }
  return by_system;
}

std::string input_source(std::string_view locality) {
  if (locality.empty()) return {};
  return locality == "node" ? "disk" : "network";
}

// Sets the bytes and records of the task; phases have the bytes that they process.
void measure(const protocols::Counters &counters, protocols::Span &task) {
  task.gc_ms = task_counter(counters, "GC_TIME_MILLIS");
  if (task.stage == "map") {
    task.bytes = input_bytes(counters);
    task.records = task_counter(counters, "MAP_INPUT_RECORDS");
    if (task.bytes && !task.locality.empty()) task.remote_bytes = task.locality == "node" ? 0 : *task.bytes;
  } else if (task.stage == "reduce") {
    task.bytes = task_counter(counters, "REDUCE_SHUFFLE_BYTES");
    task.records = task_counter(counters, "REDUCE_INPUT_RECORDS");
  }
}

protocols::Span phase_of(const protocols::Span &task, const char *name, int64_t begin, int64_t end) {
  protocols::Span phase;
  phase.text = "phase";
  phase.framework = task.framework;
  phase.host = task.host;
  phase.job = task.job;
  phase.stage = task.stage;
  phase.task = task.task;
  phase.attempt = task.attempt;
  phase.phase = name;
  phase.quality = "coarse";
  phase.start_ms = begin;
  phase.duration_ms = end - begin;
  return phase;
}

// The phases with times in the history, in order and within the task; phases without a duration are omitted.
void add_map_phases(const protocols::Event &event, const protocols::Span &task, protocols::Spans &out) {
  const int64_t begin = task.start_ms, middle = event.map_finish, end = event.finish;
  if (middle < begin || middle > end) return;
  protocols::Span map = phase_of(task, "map", begin, middle);
  map.bytes = task.bytes;
  map.remote_bytes = task.remote_bytes;
  map.records = task.records;
  map.source = input_source(task.locality);
  out.push_back(std::move(map));
  if (middle == end) return;
  protocols::Span merge = phase_of(task, "merge", middle, end);
  merge.bytes = task_counter(event.counters, "MAP_OUTPUT_MATERIALIZED_BYTES");
  out.push_back(std::move(merge));
}

void add_reduce_phases(const protocols::Event &event, const protocols::Span &task, protocols::Spans &out) {
  const int64_t begin = task.start_ms, shuffled = event.shuffle_finish, sorted = event.sort_finish, end = event.finish;
  if (shuffled < begin || sorted < shuffled || end < sorted) return;
  protocols::Span shuffle = phase_of(task, "shuffle", begin, shuffled);
  // Without a source: the counters do not separate data from maps on the same node.
  protocols::Span sort = phase_of(task, "sort", shuffled, sorted);
  protocols::Span reduce = phase_of(task, "reduce", sorted, end);
  reduce.records = task.records;
  shuffle.bytes = sort.bytes = reduce.bytes = task.bytes;
  out.push_back(std::move(shuffle));
  if (sorted > shuffled) out.push_back(std::move(sort));
  out.push_back(std::move(reduce));
}

}  // namespace

protocols::Span MapReduceModel::base(std::string_view level, std::string_view task_type) const {
  protocols::Span span;
  span.text = level;
  span.framework = "hadoop";
  span.job = job_.job;
  span.stage = stage_of(task_type);
  return span;
}

core::Status MapReduceModel::take(const protocols::Event &event, protocols::Spans &out) {
  if (job_.job.empty()) job_.job = event.job;
  switch (event.type) {
    case protocols::Event::Type::job_submitted:
      job_submitted(event);
      break;
    case protocols::Event::Type::job_ended:
      job_ended(event, out);
      break;
    case protocols::Event::Type::task_started:
      task_started(event);
      break;
    case protocols::Event::Type::task_ended:
      task_ended(event);
      break;
    case protocols::Event::Type::attempt_started:
      return attempt_started(event);
    case protocols::Event::Type::attempt_ended:
      return attempt_ended(event, out);
    case protocols::Event::Type::other:
      break;
  }
  return core::Done{};
}

void MapReduceModel::job_submitted(const protocols::Event &event) {
  if (job_id_known_ || event.start <= 0) return;
  job_.text = "job";
  job_.framework = "hadoop";
  job_.name = cut(event.name);
  job_.start_ms = event.start;
  job_id_known_ = true;
}

void MapReduceModel::task_started(const protocols::Event &event) {
  if (event.start <= 0) return;
  Stage &stage = stages_[stage_of(event.task_type)];
  if (stage.running.span.start_ms == 0) {
    stage.running.span = base("stage", event.task_type);
    stage.running.span.start_ms = event.start;
  }
  if (tasks_.size() >= kMaxTasks) return;
  if (tasks_.insert_or_assign(event.task, event.places.size() <= kMaxPlaces ? event.places : "").second) ++stage.running_tasks;
}

void MapReduceModel::task_ended(const protocols::Event &event) {
  const auto found = stages_.find(stage_of(event.task_type));
  if (found == stages_.end()) return;
  Stage &stage = found->second;
  stage.running_tasks -= static_cast<int64_t>(tasks_.erase(event.task));
  stage.finish = std::max(stage.finish, event.finish);
  const protocols::Outcome outcome = outcome_of(event.status);
  stage.failed = stage.failed || outcome == protocols::Outcome::failed;
  stage.killed = stage.killed || outcome == protocols::Outcome::killed;
  std::string_view error = event.error;
  if (error.starts_with(", ")) error.remove_prefix(2);  // Hadoop joins the errors of a task's attempts
  if (outcome == protocols::Outcome::failed && stage.error.empty() && !error.empty())
    stage.error = event.task + " failed: " + first_lines(error);
}

core::Status MapReduceModel::attempt_started(const protocols::Event &event) {
  if (event.start <= 0) return core::Error{"an attempt begins without a time"};
  if (attempts_.size() >= kMaxOpen) return core::Error{"too many open attempts"};
  protocols::Span span = base("task", event.task_type);
  span.task = event.task;
  span.attempt = event.attempt;
  span.host = topology_.host(cut(event.host));
  span.start_ms = event.start;
  // A reduce's data comes from all maps: its locality in the history is that of the container request.
  if (span.stage == "map") {
    const auto task = tasks_.find(event.task);
    const std::string_view data = task == tasks_.end() ? std::string_view{} : std::string_view(task->second);
    span.locality = topology_.locality_from_level(event.locality, span.host, data);
  }
  attempts_.insert_or_assign(event.attempt, Running{std::move(span)});
  return core::Done{};
}

core::Status MapReduceModel::attempt_ended(const protocols::Event &event, protocols::Spans &out) {
  const auto found = attempts_.find(event.attempt);
  if (found == attempts_.end()) {
    // The framework kills attempts that still wait for a container, such as copies of a task that has ended.
    if (outcome_of(event.status) == protocols::Outcome::killed) return core::Done{};
    return core::Error{"attempt " + event.attempt + " ends without a begin"};
  }
  Running running = std::move(found->second);
  attempts_.erase(found);
  protocols::Span &task = running.span;
  if (event.finish < task.start_ms) return core::Error{"attempt " + event.attempt + " ends before its begin"};
  if (task.host.empty()) task.host = topology_.host(cut(event.host));
  if (task.host.empty()) task.host = kNoHost;
  task.duration_ms = event.finish - task.start_ms;
  task.outcome = outcome_of(event.status);
  measure(event.counters, task);
  task.counters = event.counters;
  if (task.outcome != protocols::Outcome::succeeded) append_error(task, event.error, out);
  if (task.outcome == protocols::Outcome::succeeded && task.stage == "map") add_map_phases(event, task, out);
  if (task.outcome == protocols::Outcome::succeeded && task.stage == "reduce") add_reduce_phases(event, task, out);
  out.push_back(std::move(task));
  return core::Done{};
}

// Running spans end with the job. A later end event still replaces this end.
void MapReduceModel::close(int64_t end, protocols::Spans &out) const {
  for (const auto &[id, attempt] : attempts_) {
    protocols::Span span = attempt.span;
    if (span.host.empty()) span.host = kNoHost;
    close_with_job(span, end, out);
  }
}

// An unfinished stage ends with its job: killed, or failed if a task had failed. False: it would end before
// its begin.
bool MapReduceModel::end_stage(Stage &stage, int64_t job_finish, protocols::Outcome job) {
  protocols::Span &span = stage.running.span;
  const bool broken_off = job != protocols::Outcome::succeeded && (stage.running_tasks > 0 || stage.finish == 0);
  const int64_t end = broken_off || stage.finish == 0 ? std::max(stage.finish, job_finish) : stage.finish;
  span.duration_ms = end - span.start_ms;
  span.outcome = stage.failed                 ? protocols::Outcome::failed
                 : stage.killed || broken_off ? protocols::Outcome::killed
                                              : protocols::Outcome::succeeded;
  return span.duration_ms >= 0;
}

void MapReduceModel::job_ended(const protocols::Event &event, protocols::Spans &out) {
  // A history may contain this event more than once: running attempts are copied only once.
  if (!std::exchange(ended_, true)) close(event.finish, out);
  for (auto &[name, stage] : stages_) {
    if (!end_stage(stage, event.finish, outcome_of(event.status))) continue;
    protocols::Span &span = stage.running.span;
    if (name == "map") span.counters = event.map_counters;
    if (name == "reduce") span.counters = event.reduce_counters;
    if (span.outcome != protocols::Outcome::succeeded) append_error(span, stage.error, out);
    out.push_back(span);
  }
  stages_.clear();
  tasks_.clear();
  if (!job_id_known_ || event.finish < job_.start_ms) return;
  job_.duration_ms = event.finish - job_.start_ms;
  job_.outcome = outcome_of(event.status);
  job_.counters = event.counters;
  if (job_.outcome != protocols::Outcome::succeeded) append_error(job_, event.error, out);
  out.push_back(job_);
  job_.counters.clear();
}

void MapReduceModel::open(protocols::Spans &out) {
  if (ended_) return;
  if (job_id_known_ && !job_reported_) out.push_back(job_);
  job_reported_ = job_id_known_;
  const auto report = [&](Running &running) {
    if (running.reported || running.span.start_ms <= 0) return;
    running.reported = true;
    out.push_back(running.span);
  };
  for (auto &[name, stage] : stages_) report(stage.running);
  // The host is part of an attempt's identity: an attempt without a host is reported only at its end.
  for (auto &[id, attempt] : attempts_)
    if (!attempt.span.host.empty()) report(attempt);
}

}  // namespace atalaya::hadoop
