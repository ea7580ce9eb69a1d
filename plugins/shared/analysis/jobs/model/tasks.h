// SPDX-License-Identifier: Apache-2.0
// Jobs, their tasks and phases, from the spans of a store. docs/how-to/jobs.md has the convention of tags.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/sample/span_end.h"
#include "plugins/shared/analysis/jobs/model/counts.h"
#include "plugins/shared/analysis/jobs/model/text_ids.h"
#include "plugins/shared/store/lookup.h"
#include "plugins/shared/store/store.h"

namespace atalaya::jobs {

constexpr uint32_t kNoJob = std::numeric_limits<uint32_t>::max(), kNoTask = kNoJob;

int64_t sum_of(int64_t a, int64_t b);  // of amounts; the known one if the other is unknown

enum class Outcome : uint8_t { unknown, succeeded, failed, killed, running };
std::string_view outcome_text(Outcome outcome);  // "" if unknown

struct Work {
  int64_t start_ns = 0, duration_ns = kUnknown;
  int64_t bytes = kUnknown, remote = kUnknown;  // remote: the bytes that came over the network
  int64_t end_ns() const { return core::end_of(start_ns, duration_ns); }
};

struct Job {
  uint32_t id = 0, name = 0, framework = 0;  // names
  bool has_span = false;
  Work work;
  Outcome outcome = Outcome::unknown;
};

// An attempt at a task.
struct Task {
  uint32_t job = 0;  // its index among the jobs
  uint32_t stage = 0, host = 0, executor = 0, locality = 0;
  Outcome outcome = Outcome::unknown;
  bool has_span = false;  // else only phases report it
  bool is_rerun = false;  // an earlier run of the application had a task of this name, which is ignored
  Work work;
  int64_t remote_of = kUnknown;  // the bytes that work.remote is a part of: of the task, or of the phases that report it
  int64_t gc_ms = kUnknown, spills = kUnknown, records = kUnknown;
  Counts counts;
  const std::string *key = nullptr;
  uint32_t task_begin = 0, attempt_begin = 0;  // in the key

  std::string_view task() const { return std::string_view(*key).substr(task_begin, attempt_begin - task_begin - 1); }
  std::string_view attempt() const { return std::string_view(*key).substr(attempt_begin); }
  bool has_ended_well() const { return work.duration_ns >= 0 && outcome != Outcome::failed && outcome != Outcome::killed; }
  // Whether the task can be compared: it ended without failure, after a measurable time.
  bool is_done() const { return has_ended_well() && work.duration_ns > 0; }
};

// All spans of a phase of a task.
struct Phase {
  uint32_t task = 0, phase = 0;
  Work work;            // from the start of the first to the end of the last one
  int64_t busy_ns = 0;  // the sum of their durations; kUnknown while one is open
};

// One span of a phase with several.
struct Part {
  uint32_t task = 0, phase = 0;
  int64_t begin_ns = 0, end_ns = 0;
};

// A stage as its framework reports it.
struct StageSpan {
  uint32_t name = 0;  // readable, such as the place in the program
  Work work;
  bool has_python = false;  // its query called Python functions
  bool is_sql = false;      // its tasks belong to a query
};

// A process of a job that runs its tasks.
struct Executor {
  uint32_t job = 0;  // its index among the jobs
  uint32_t executor = 0, host = 0, slots = 0;
  Work work;
};

// The reason why a job, a stage, an executor or an attempt broke.
struct JobError {
  enum class Of : uint8_t { job, stage, executor, attempt } of = Of::job;
  Outcome outcome = Outcome::failed;
  uint32_t job = 0;  // its index among the jobs
  uint32_t stage = 0, host = 0, executor = 0, attempt = 0, error = 0;
  uint32_t task = kNoTask;  // its index among the tasks
  int64_t time_ns = 0;
};

// Runs of a region on a host.
struct Region {
  uint32_t job = kNoJob;  // its index among the jobs; kNoJob: none
  uint32_t name = 0, host = 0;
  size_t runs = 1;
  double seconds = 0;  // in the time of the job
  double bytes = 0;
  double bytes_seconds = 0;  // of the runs with known bytes
  bool has_bytes = false;
};

// All reported data of jobs. Movable, not copyable.
struct JobData {
  JobData() = default;
  JobData(JobData &&) = default;
  JobData &operator=(JobData &&) = default;

  TextIds names;
  std::vector<Job> jobs;
  std::vector<Task> tasks;
  std::vector<Phase> phases;  // by task, in order of their start
  std::vector<Part> parts;    // by task, phase, and start; none for phases with one span
  std::vector<Region> regions;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> slots;                        // reported ones, by job and executor
  std::vector<Executor> executors;                                                // with reported slots
  std::map<std::pair<uint32_t, uint32_t>, StageSpan> stages;                      // reported ones, by job and stage
  std::map<std::pair<uint32_t, std::string>, std::string, std::less<>> settings;  // by job and key
  std::vector<JobError> errors;                                                   // in order of time
  std::unordered_map<std::string, uint32_t> keys;                                 // of the tasks, which point into it
  size_t without_identity = 0;                                                    // spans of tasks and phases without a task
  size_t reruns = 0, without_end = 0;  // tasks of an earlier run; tasks without an end in a job that is over

  std::vector<std::string> idle;   // jobs known only by spans that were open before the range
  size_t regions_without_job = 0;  // attributed to jobs by node and time
  std::vector<std::string> notes;

  const std::string &name(uint32_t number) const { return names.text(number); }
};

using store::tag_of;
// Nothing for an open span, and for invalid numbers of other senders.
std::optional<int64_t> end_of(const store::Span &span);
// A run of a region, without its names.
Region run_of(const store::Span &span);

// The identity of a task, as a key; false if the tags name none.
bool append_key(std::string &key, const store::Tags &tags);

struct TaskIdentity;  // in tasks.cpp
class DataSource;

// Collects spans in any order.
class Collector {
 public:
  void add(const store::Span &span);
  // Call once. Missing values of tasks are derived from their phases.
  JobData take();

 private:
  struct SpanValues;
  uint32_t job(std::string_view id);
  void name(Task &task, const TaskIdentity &identity);
  Task *task(const TaskIdentity &identity);
  void add_job(const store::Span &span);
  void add_task(const store::Span &span);
  void add_phase(const store::Span &span);
  void add_region(const store::Span &span);
  void add_executor(const store::Span &span);
  void add_stage(const store::Span &span);
  void add_setting(const store::Span &span);
  void attach_settings();
  void add_error(const store::Span &span);
  void sort_errors();
  void remove_earlier_runs();
  void close();
  using Phases = std::vector<Phase>::iterator;
  void sort_phases();
  void merge_phases();
  Phases merge_phases(Phases begin, Phases end, Phases into);
  void add_part(Phase &one, const Phase &next);
  void complete(Task &task, const Phase *begin, const Phase *end, DataSource &data_source) const;

  JobData all_;
  std::vector<Phase> history_phases_;                                    // less exact than those of the tasks
  std::unordered_map<uint32_t, uint32_t> jobs_;                          // by text id
  std::map<std::pair<std::string, std::string>, std::string> settings_;  // by id of the job and key; a job may have no other span
  std::vector<std::string> failed_;                                      // keys of the tasks of the errors; "" of other errors
  std::string key_;
};

}  // namespace atalaya::jobs
