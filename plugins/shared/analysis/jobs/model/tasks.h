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

int64_t sum_of(int64_t a, int64_t b);  // Returns the sum of two amounts; if one is unknown, the other one.

enum class Outcome : uint8_t { unknown, succeeded, failed, killed, running };
std::string_view outcome_text(Outcome outcome);  // "" if unknown

struct Work {
  int64_t start_ns = 0, duration_ns = kUnknown;
  int64_t bytes = kUnknown, remote = kUnknown;  // remote: the bytes that came over the network
  int64_t end_ns() const { return core::end_of(start_ns, duration_ns); }
};

struct Job {
  uint32_t id = 0, name = 0, framework = 0;  // ids of texts
  bool has_span = false;
  Work work;
  Outcome outcome = Outcome::unknown;
};

// An attempt at a task.
struct Task {
  uint32_t job = 0;  // index of the job
  uint32_t stage = 0, host = 0, executor = 0, locality = 0;
  Outcome outcome = Outcome::unknown;
  bool has_span = false;  // false: only its phases report the attempt
  bool is_rerun = false;  // an earlier run of the application had a task of this name, which is ignored
  Work work;
  // the bytes of which work.remote is a part: those of the task, or those of the phases that report it
  int64_t remote_of = kUnknown;
  int64_t gc_ms = kUnknown, spills = kUnknown, records = kUnknown;
  Counts counts;
  const std::string *key = nullptr;
  uint32_t task_begin = 0, attempt_begin = 0;  // positions of the task and the attempt in the key

  std::string_view task() const { return std::string_view(*key).substr(task_begin, attempt_begin - task_begin - 1); }
  std::string_view attempt() const { return std::string_view(*key).substr(attempt_begin); }
  bool has_ended_well() const { return work.duration_ns >= 0 && outcome != Outcome::failed && outcome != Outcome::killed; }
  // Whether the task can be compared: it ended without failure, after a measurable time.
  bool is_done() const { return has_ended_well() && work.duration_ns > 0; }
};

// All spans of a phase of a task.
struct Phase {
  uint32_t task = 0, phase = 0;
  Work work;            // from the start of the first span to the end of the last one
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
  uint32_t job = 0;  // index of the job
  uint32_t executor = 0, host = 0, slots = 0;
  Work work;
};

// The reason why a job, a stage, an executor or an attempt broke.
struct JobError {
  enum class Of : uint8_t { job, stage, executor, attempt } of = Of::job;
  Outcome outcome = Outcome::failed;
  uint32_t job = 0;  // index of the job
  uint32_t stage = 0, host = 0, executor = 0, attempt = 0, error = 0;
  uint32_t task = kNoTask;  // index of the task
  int64_t time_ns = 0;
};

// Runs of a region on a host.
struct Region {
  uint32_t job = kNoJob;  // index of the job; kNoJob: none
  uint32_t name = 0, host = 0;
  size_t runs = 1;
  double seconds = 0;  // duration within the time of the job
  double bytes = 0;
  double bytes_seconds = 0;  // duration of the runs with known bytes
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
  std::vector<Phase> phases;  // sorted by task, then by start
  std::vector<Part> parts;    // sorted by task, phase and start; phases with one span have none
  std::vector<Region> regions;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> slots;    // numbers of slots that executors report, by job and executor
  std::vector<Executor> executors;                            // with reported slots
  std::map<std::pair<uint32_t, uint32_t>, StageSpan> stages;  // reported ones, by job and stage
  std::map<std::pair<uint32_t, std::string>, std::string, std::less<>> settings;  // by job and key
  std::vector<JobError> errors;                                                   // in order of time
  std::unordered_map<std::string, uint32_t> keys;                                 // keys of the tasks, which refer to them
  size_t without_identity = 0;         // number of spans of tasks and phases that identify no task
  size_t reruns = 0, without_end = 0;  // numbers of tasks of an earlier run, and of tasks without an end in a job that has ended

  std::vector<std::string> idle;   // jobs known only by spans that were open before the range
  size_t regions_without_job = 0;  // number of regions without a job that were attributed to jobs by node and time
  std::vector<std::string> notes;

  const std::string &name(uint32_t number) const { return names.text(number); }
};

using store::tag_of;
// The end of a span. Nothing for an open span, and for invalid numbers of other senders.
std::optional<int64_t> end_of(const store::Span &span);
// A run of a region, without its names.
Region run_of(const store::Span &span);

// Appends the key that identifies a task; false if the tags identify none.
bool append_key(std::string &key, const store::Tags &tags);

struct TaskIdentity;  // in tasks.cpp
class DataSource;

// Collects spans in any order.
class Collector {
 public:
  void add(const store::Span &span);
  // Returns the data. Call it once. Derives missing values of tasks from their phases.
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
  std::vector<Phase> history_phases_;  // phases from the framework's history, which is less exact than the spans of the tasks
  std::unordered_map<uint32_t, uint32_t> jobs_;                          // index of a job by its text id
  std::map<std::pair<std::string, std::string>, std::string> settings_;  // by id of the job and key; a job may have no other span
  std::vector<std::string> failed_;                                      // keys of the tasks of the errors; "" of other errors
  std::string key_;
};

}  // namespace atalaya::jobs
