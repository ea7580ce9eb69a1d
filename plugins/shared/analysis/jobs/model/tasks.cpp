// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/model/tasks.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <utility>

#include "plugins/shared/analysis/jobs/findings/duplicate_phases.h"
#include "plugins/shared/analysis/jobs/read/data_source.h"

namespace atalaya::jobs {

using namespace std::string_view_literals;

// Reads the identity from a span's tags in one pass.
struct TaskIdentity {
  explicit TaskIdentity(const store::Tags &tags) {
    for (const auto &[tag, value] : tags) {
      const std::string_view key = tag;  // compared by length first
      if (key == "job"sv) job = value;
      if (key == "stage"sv) stage = value;
      if (key == "task"sv) task = value;
      if (key == "attempt"sv) attempt = value;
      if (key == "host"sv) host = value;
      if (key == "phase"sv) phase = value;
      if (key == "source"sv) source = value;
      if (key == "quality"sv) quality = value;
      if (key == "executor"sv) executor = value;
      if (key == "locality"sv) locality = value;
    }
  }
  bool append_key(std::string &text) const {
    text.append(job).append(1, '\0').append(task).append(1, '\0').append(attempt);
    return !task.empty() || !attempt.empty();
  }

  std::string_view job, stage, task, attempt, host, phase, source, quality, executor, locality;
};

namespace {

constexpr int64_t kMaxSlots = 100'000;  // maximum slots of an executor

// An amount; invalid and negative numbers are unknown.
int64_t amount_of(const store::Field &field) {
  constexpr double kMaxValue = 9e18;
  if (field.is_count) return std::max(field.count, kUnknown);
  return field.value >= 0 && field.value < kMaxValue ? static_cast<int64_t>(field.value) : kUnknown;
}

Outcome outcome_of(int64_t code, bool is_open) {
  if (is_open) return Outcome::running;
  if (code == 0) return Outcome::succeeded;
  if (code == 1) return Outcome::failed;
  return code == 2 ? Outcome::killed : Outcome::unknown;
}

}  // namespace

int64_t sum_of(int64_t a, int64_t b) {
  if (a == kUnknown || b == kUnknown) return std::max(a, b);
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? a : sum;
}

// The values of a span's fields.
struct Collector::SpanValues {
  explicit SpanValues(const store::Span &span) {
    work.start_ns = span.start_ns;
    work.duration_ns = std::max(span.duration_ns, kUnknown);
    int64_t end = 0;  // may overflow
    if (__builtin_add_overflow(work.start_ns, work.duration_ns, &end)) work.duration_ns = kUnknown;
    for (const store::Field &field : span.fields) {
      if (field.name == "span.bytes") work.bytes = amount_of(field);
      if (field.name == "span.bytes.remote") work.remote = amount_of(field);
      if (field.name == "span.outcome") outcome = amount_of(field);
      if (field.name == "span.gc.time") gc_ms = amount_of(field);
      if (field.name == "span.spills") spills = amount_of(field);
      if (field.name == "span.slots") slots = amount_of(field);
      if (field.name == "span.records") records = amount_of(field);
      if (const CountName *count = count_of(field.name)) counts.set(*count, amount_of(field));
    }
  }

  Work work;
  int64_t outcome = kUnknown, gc_ms = kUnknown, spills = kUnknown, records = kUnknown, slots = kUnknown;
  Counts counts;
};

std::optional<int64_t> end_of(const store::Span &span) {
  int64_t end = 0;
  return span.duration_ns < 0 || __builtin_add_overflow(span.start_ns, span.duration_ns, &end) ? std::nullopt : std::optional(end);
}

bool append_key(std::string &key, const store::Tags &tags) {
  return TaskIdentity(tags).append_key(key);
}

Region run_of(const store::Span &span) {
  Region run{.seconds = static_cast<double>(span.duration_ns) / 1e9};
  for (const store::Field &field : span.fields) {
    const int64_t bytes = field.name == "span.bytes" ? amount_of(field) : kUnknown;
    if (bytes == kUnknown) continue;
    run.bytes = static_cast<double>(bytes);
    run.bytes_seconds = run.seconds;
    run.has_bytes = true;
  }
  return run;
}

std::string_view outcome_text(Outcome outcome) {
  constexpr std::array<std::string_view, 5> kTexts = {"", "succeeded", "failed", "killed", "running"};
  return kTexts[static_cast<size_t>(outcome)];
}

void Collector::add(const store::Span &span) {
  if (span.start_ns < 0) return;  // before 1970: invalid
  if (span.name == "task") return add_task(span);
  if (span.name == "phase") return add_phase(span);
  if (span.name == "region") return add_region(span);
  if (span.name == "executor") return add_executor(span);
  if (span.name == "stage") return add_stage(span);
  if (span.name == "fact") return add_setting(span);
  if (span.name == "error") return add_error(span);
  if (span.name == "job") add_job(span);
}

uint32_t Collector::job(std::string_view id) {
  const uint32_t name = all_.names.id_of(id);
  const auto [found, is_new] = jobs_.try_emplace(name, static_cast<uint32_t>(all_.jobs.size()));
  if (is_new) all_.jobs.push_back({.id = name});
  return found->second;
}

Task *Collector::task(const TaskIdentity &identity) {
  key_.clear();
  if (!identity.append_key(key_)) return nullptr;
  const auto [found, is_new] = all_.keys.try_emplace(key_, static_cast<uint32_t>(all_.tasks.size()));
  if (is_new) {
    Task task;
    task.job = job(identity.job);
    task.key = &found->first;
    task.task_begin = static_cast<uint32_t>(identity.job.size() + 1);
    task.attempt_begin = static_cast<uint32_t>(task.task_begin + identity.task.size() + 1);
    all_.tasks.push_back(task);
  }
  Task &task = all_.tasks[found->second];
  if (!task.has_span) name(task, identity);
  return &task;
}

void Collector::name(Task &task, const TaskIdentity &identity) {
  const auto say = [&](uint32_t &name, std::string_view value) {
    if (!value.empty()) name = all_.names.id_of(value);
  };
  say(task.stage, identity.stage);
  say(task.host, identity.host);
  say(task.executor, identity.executor);
}

void Collector::add_job(const store::Span &span) {
  if (tag_of(span.tags, "job").empty()) return;
  Job &job = all_.jobs[this->job(tag_of(span.tags, "job"))];
  const SpanValues values(span);
  job.has_span = true;
  job.work = values.work;
  job.outcome = outcome_of(values.outcome, span.duration_ns < 0);
  job.name = all_.names.id_of(tag_of(span.tags, "name"));
  job.framework = all_.names.id_of(tag_of(span.tags, "framework"));
}

void Collector::add_task(const store::Span &span) {
  const TaskIdentity identity(span.tags);
  Task *task = this->task(identity);
  if (task == nullptr) {
    ++all_.without_identity;
    return;
  }
  const SpanValues values(span);
  if (task->has_span && task->work.start_ns != values.work.start_ns) {
    // Frameworks restart their numbers with each application: the later run replaces the earlier one.
    ++all_.reruns;
    task->is_rerun = true;
    if (values.work.start_ns < task->work.start_ns) return;
  }
  task->has_span = true;
  name(*task, identity);
  task->work = values.work;
  task->remote_of = values.work.remote == kUnknown ? kUnknown : values.work.bytes;
  task->outcome = outcome_of(values.outcome, span.duration_ns < 0);
  task->locality = all_.names.id_of(identity.locality);
  task->gc_ms = values.gc_ms;
  task->spills = values.spills;
  task->records = values.records;
  task->counts = values.counts;
}

void Collector::add_phase(const store::Span &span) {
  const TaskIdentity identity(span.tags);
  const uint32_t name = all_.names.id_of(identity.phase);
  const Task *task = name == 0 ? nullptr : this->task(identity);
  if (task == nullptr) {
    ++all_.without_identity;
    return;
  }
  const SpanValues values(span);
  Phase phase{.task = static_cast<uint32_t>(task - all_.tasks.data()), .phase = name, .work = values.work};
  phase.busy_ns = values.work.duration_ns;
  if (!identity.source.empty() && phase.work.remote == kUnknown && phase.work.bytes != kUnknown)
    phase.work.remote = identity.source == "network" ? phase.work.bytes : 0;
  // The tag quality "placed" means a log line with a derived position; other qualities mean a job history.
  (identity.quality.empty() || identity.quality == "placed" ? all_.phases : history_phases_).push_back(phase);
}

void Collector::add_region(const store::Span &span) {
  if (span.duration_ns < 0) return;  // its cost is not known yet
  Region &run = all_.regions.emplace_back(run_of(span));
  if (const std::string_view id = tag_of(span.tags, "job"); !id.empty()) run.job = job(id);
  run.name = all_.names.id_of(tag_of(span.tags, "name"));
  run.host = all_.names.id_of(tag_of(span.tags, "host"));
}

void Collector::add_executor(const store::Span &span) {
  const TaskIdentity identity(span.tags);
  const SpanValues values(span);
  if (identity.job.empty() || identity.executor.empty() || values.slots <= 0 || values.slots > kMaxSlots) return;
  const auto slots = static_cast<uint32_t>(values.slots);
  const uint32_t job = this->job(identity.job), executor = all_.names.id_of(identity.executor);
  all_.slots[{job, executor}] = slots;
  all_.executors.push_back({job, executor, all_.names.id_of(identity.host), slots, values.work});
}

void Collector::add_stage(const store::Span &span) {
  const TaskIdentity identity(span.tags);
  if (identity.job.empty() || identity.stage.empty()) return;
  StageSpan &stage = all_.stages[{job(identity.job), all_.names.id_of(identity.stage)}];
  stage.name = all_.names.id_of(tag_of(span.tags, "name"));
  stage.work = SpanValues(span).work;
  for (const store::Field &field : span.fields) {
    stage.has_python = stage.has_python || is_of_python(field.name);
    stage.is_sql = stage.is_sql || is_of_query(field.name);
  }
}

void Collector::add_setting(const store::Span &span) {
  settings_[{std::string(tag_of(span.tags, "job")), std::string(tag_of(span.tags, "fact"))}] = tag_of(span.tags, "value");
}

void Collector::attach_settings() {
  for (const auto &[place, value] : settings_)
    if (const auto job = jobs_.find(all_.names.id_of(place.first)); job != jobs_.end())
      all_.settings[{job->second, place.second}] = value;
}

// Phases are stored first, because their tasks may come later.
void Collector::add_error(const store::Span &span) {
  const TaskIdentity identity(span.tags);
  if (identity.job.empty()) return;
  JobError error{.outcome = outcome_of(SpanValues(span).outcome, false), .job = job(identity.job), .time_ns = span.start_ns};
  error.stage = all_.names.id_of(identity.stage);
  error.executor = all_.names.id_of(identity.executor);
  error.attempt = all_.names.id_of(identity.attempt.empty() ? identity.task : identity.attempt);
  error.error = all_.names.id_of(tag_of(span.tags, "error"));
  error.of = error.attempt != 0    ? JobError::Of::attempt
             : error.executor != 0 ? JobError::Of::executor
             : error.stage != 0    ? JobError::Of::stage
                                   : JobError::Of::job;
  const bool has_host = error.of == JobError::Of::attempt || error.of == JobError::Of::executor;
  if (has_host) error.host = all_.names.id_of(identity.host);  // for a job this is the host of the agent
  key_.clear();
  if (!identity.append_key(key_)) key_.clear();
  failed_.push_back(key_);
  all_.errors.push_back(error);
}

void Collector::sort_errors() {
  for (size_t i = 0; i < failed_.size(); ++i)
    if (const auto task = all_.keys.find(failed_[i]); task != all_.keys.end()) all_.errors[i].task = task->second;
  std::stable_sort(all_.errors.begin(), all_.errors.end(),
                   [](const JobError &a, const JobError &b) { return a.time_ns < b.time_ns; });
}

// Removes phases of tasks of an earlier run of the application.
void Collector::remove_earlier_runs() {
  if (all_.reruns == 0) return;
  const auto is_earlier = [&](const Phase &phase) {
    const Task &task = all_.tasks[phase.task];
    return task.is_rerun && phase.work.start_ns < task.work.start_ns;
  };
  std::erase_if(all_.phases, is_earlier);
  std::erase_if(history_phases_, is_earlier);
}

// Marks open tasks of ended jobs as ended: frameworks do not report the ends of all tasks when a job ends or its master dies.
void Collector::close() {
  for (Task &task : all_.tasks) {
    const Job &job = all_.jobs[task.job];
    if (task.outcome != Outcome::running || !job.has_span || job.work.duration_ns == kUnknown) continue;
    task.outcome = Outcome::unknown;
    ++all_.without_end;
  }
}

// By task.
void Collector::sort_phases() {
  std::vector<uint32_t> places(all_.tasks.size() + 1, 0);
  for (const Phase &phase : all_.phases) ++places[phase.task + 1];
  for (size_t i = 1; i < places.size(); ++i) places[i] += places[i - 1];
  std::vector<Phase> sorted(all_.phases.size());
  for (const Phase &phase : all_.phases) sorted[places[phase.task]++] = phase;
  all_.phases = std::move(sorted);
}

// Merges the spans of a phase (several spills).
void Collector::merge_phases() {
  sort_phases();
  std::vector<Phase> &phases = all_.phases;
  auto into = phases.begin();
  for (auto begin = phases.begin(); begin != phases.end();) {
    const auto end = std::find_if(begin, phases.end(), [task = begin->task](const Phase &phase) { return phase.task != task; });
    into = merge_phases(begin, end, into);
    begin = end;
  }
  phases.erase(into, phases.end());
}

// Merges phases of one task, sorted by start; `into` does not start after them.
Collector::Phases Collector::merge_phases(Phases begin, Phases end, Phases into) {
  const auto by_name = [](const Phase &a, const Phase &b) {
    return std::tie(a.phase, a.work.start_ns) < std::tie(b.phase, b.work.start_ns);
  };
  const auto by_start = [](const Phase &a, const Phase &b) {
    return std::tie(a.work.start_ns, a.phase) < std::tie(b.work.start_ns, b.phase);
  };
  std::sort(begin, end, by_name);
  const auto first = into;
  for (auto next = begin; next != end; ++next) {
    if (into == first || std::prev(into)->phase != next->phase)
      *into++ = *next;
    else
      add_part(*std::prev(into), *next);
  }
  std::sort(first, into, by_start);
  return into;
}

void Collector::add_part(Phase &one, const Phase &next) {
  const auto keep = [&](const Phase &phase) {
    all_.parts.push_back({phase.task, phase.phase, phase.work.start_ns, phase.work.end_ns()});
  };
  const bool is_first = all_.parts.empty() || all_.parts.back().task != one.task || all_.parts.back().phase != one.phase;
  if (is_first) keep(one);
  keep(next);
  const bool is_open = one.busy_ns == kUnknown || next.busy_ns == kUnknown;
  const int64_t end = is_open ? 0 : std::max(one.work.end_ns(), next.work.end_ns());
  one.busy_ns = is_open ? kUnknown : sum_of(one.busy_ns, next.busy_ns);
  one.work.duration_ns = is_open ? kUnknown : end - one.work.start_ns;
  one.work.remote = remote_of_both(one.work, next.work);
  one.work.bytes = sum_of(one.work.bytes, next.work.bytes);
}

// Derives missing values from the phases: the time without a span of the task; the bytes if it reports none.
void Collector::complete(Task &task, const Phase *begin, const Phase *end, DataSource &data_source) const {
  int64_t bytes = kUnknown, first = begin->work.start_ns, last = first;
  bool is_open = false;
  for (const Phase *phase = begin; phase != end; ++phase) {
    bytes = std::max(bytes, phase->work.bytes);
    first = std::min(first, phase->work.start_ns);
    if (phase->work.duration_ns == kUnknown)
      is_open = true;
    else
      last = std::max(last, phase->work.end_ns());
  }
  if (!task.has_span) task.work = {first, is_open ? kUnknown : last - first};
  if (!task.has_span && is_open) task.outcome = Outcome::running;
  if (task.work.bytes == kUnknown) task.work.bytes = bytes;
  if (task.work.remote != kUnknown) {
    if (task.remote_of == kUnknown) task.remote_of = task.work.bytes;
    return;
  }
  const auto [remote, of] = data_source.remote_of(begin, end);
  if (remote == kUnknown || remote > task.work.bytes) return;
  task.work.remote = remote;
  task.remote_of = of >= remote ? of : task.work.bytes;  // a phase may report only remote bytes
}

JobData Collector::take() {
  remove_earlier_runs();
  all_.phases = remove_duplicate_phases(std::move(all_.phases), std::move(history_phases_), all_, all_.notes);
  merge_phases();
  DataSource data_source(all_);
  const Phase *next = all_.phases.data(), *last = next + all_.phases.size();
  while (next != last) {
    const Phase *begin = next;
    while (next != last && next->task == begin->task) ++next;
    complete(all_.tasks[begin->task], begin, next, data_source);
  }
  close();
  sort_errors();
  attach_settings();
  return std::move(all_);
}

}  // namespace atalaya::jobs
