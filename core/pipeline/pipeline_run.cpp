// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/pipeline_run.h"

#include <algorithm>
#include <cmath>

#include "core/base/files.h"
#include "core/base/log.h"
#include "core/base/now.h"
#include "core/base/text/units.h"

namespace atalaya::core {
namespace {

constexpr unsigned kMaxBackOff = 6;  // 2^6 windows

std::string component_label(size_t position, const StageDescription &stage) {
  std::string label = std::to_string(position) + " ";
  if (stage.function != 0) return label + "function";
  return label + std::string(kind_name(stage.kind)) + " " + stage.name;
}

// A process may take as long to answer as it likes.
bool has_own_thread(const StageDescription &source) {
  return source.isolation.on || (source.component.component->flags & (ATALAYA_PUSH | ATALAYA_BLOCKING)) != 0;
}

// A field that is not a number would not survive any sink: it is absent instead.
uint64_t remove_non_finite(atalaya_sample &sample) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const atalaya_field &field = sample.fields[i];
    if (field.type == ATALAYA_F64 && !std::isfinite(field.value.f64)) continue;
    if (kept != i) sample.fields[kept] = field;
    ++kept;
  }
  const uint64_t removed = sample.field_count - kept;
  sample.field_count = kept;
  return removed;
}

void stop_instance(Instance &instance) {
  if (const Outcome outcome = instance.stop(); !outcome.ok()) log(LogLevel::error, instance.label() + ": stop: " + outcome.text);
}

// An instance and its surroundings, which outlive it.
struct Owned {
  std::unique_ptr<CountingSurroundings> surroundings;
  std::unique_ptr<Instance> instance;
};

}  // namespace

Error at_location(const Location &where, const std::string &pipeline, const StageDescription &stage, const std::string &text) {
  std::string line = prefix_of(where);
  if (!pipeline.empty()) line += "pipeline \"" + pipeline + "\": ";
  return {line + std::string(kind_name(stage.kind)) + " \"" + stage.name + "\": " + text};
}

PipelineRun::PipelineRun(PipelineDescription description, Shared &shared)
    : description_(std::move(description)), functions_(description_.functions), shared_(shared) {
  const bool pulls = std::any_of(description_.sources.begin(), description_.sources.end(), [](const StageDescription &source) {
    return (source.component.component->flags & ATALAYA_PUSH) == 0;
  });
  if (pulls) clock_.emplace(description_.every_ns);
}

PipelineRun::~PipelineRun() = default;

std::string PipelineRun::label_of(const StageDescription &stage) const {
  return "pipeline \"" + description_.name + "\": " + std::string(kind_name(stage.kind)) + " \"" + stage.name + "\"";
}

// By kind, name and ordinal among equals: a stage put in before it does not move it.
std::string PipelineRun::state_dir_of(const StageDescription &stage) const {
  int ordinal = 1;
  for (const auto *list : {&description_.sources, &description_.stages})
    for (const StageDescription &other : *list)
      if (&other < &stage && other.kind == stage.kind && other.name == stage.name) ++ordinal;
  const std::string number = ordinal == 1 ? "" : " " + std::to_string(ordinal);
  return state_folder() + "/" + description_.name + "/" + std::string(kind_name(stage.kind)) + " " + stage.name + number;
}

Status PipelineRun::failed(const StageDescription &stage, const std::string &text) const {
  return at_location(stage.where, description_.name, stage, text);
}

Status PipelineRun::create() {
  size_t position = 0;
  heads_.reserve(description_.sources.size());
  for (const StageDescription &source : description_.sources)
    if (Status made = create_head(source, ++position); !made) return made;
  if (!description_.from.empty())
    from_row_ = &shared_.ledger.row(RowType::source, description_.name, std::to_string(++position) + " from " + description_.from);
  for (const StageDescription &stage : description_.stages)
    if (Status made = create_stage(stage, ++position); !made) return made;
  return Done{};
}

Status PipelineRun::create_head(const StageDescription &source, size_t position) {
  Head head;
  const std::string component = component_label(position, source);
  const std::string state_dir = state_dir_of(source);
  head.row = &shared_.ledger.row(RowType::source, description_.name, component);
  auto owned = std::make_shared<Owned>();
  if (has_own_thread(source)) {
    auto thread = std::make_unique<SourceThread>(shared_.ledger, state_dir, shared_.pool, shared_.wake_engine);
    head.thread = thread.get();
    owned->surroundings = std::move(thread);
  } else {
    owned->surroundings = std::make_unique<CountingSurroundings>(shared_.ledger, state_dir);
  }
  head.surroundings = owned->surroundings.get();
  auto made = make_instance(source.isolation, source.component, source.parameters, label_of(source), shared_.symbols,
                            *head.surroundings, shared_.launcher);
  if (!made) return Error{prefix_of(source.where) + made.error()};
  owned->instance = std::move(*made);
  Instance *instance = owned->instance.get();
  head.instance = std::shared_ptr<Instance>(std::move(owned), instance);
  heads_.push_back(std::move(head));
  return Done{};
}

Status PipelineRun::create_stage(const StageDescription &stage, size_t position) {
  Stage made;
  const std::string component = component_label(position, stage);
  made.row = &shared_.ledger.row(RowType::stage, description_.name, component);
  made.surroundings = std::make_unique<CountingSurroundings>(shared_.ledger, state_dir_of(stage));
  if (stage.function == 0) {
    auto instance = make_instance(stage.isolation, stage.component, stage.parameters, label_of(stage), shared_.symbols,
                                  *made.surroundings, shared_.launcher);
    if (!instance) return Error{prefix_of(stage.where) + instance.error()};
    made.instance = std::move(*instance);
  }
  stages_.push_back(std::move(made));
  return Done{};
}

Status PipelineRun::start() {
  for (size_t i = 0; i < stages_.size(); ++i) {
    if (!stages_[i].instance) continue;
    if (const Outcome outcome = stages_[i].instance->start(); !outcome.ok()) return failed(description_.stages[i], outcome.text);
  }
  for (size_t i = 0; i < heads_.size(); ++i) {
    Head &head = heads_[i];
    const Outcome outcome = head.instance->start();
    if (outcome.code == ATALAYA_UNSUPPORTED) {
      // One feature less is no reason to stop the others.
      log(LogLevel::warning, head.instance->label() + ": off: " + outcome.text);
      head.off = head.unsupported = true;
      continue;
    }
    if (!outcome.ok()) return failed(description_.sources[i], outcome.text);
    if (head.thread != nullptr) head.thread->run(*head.instance);
  }
  started_ = true;
  return Done{};
}

// Whoever tries a pipeline for a moment shall know why some of it left nothing.
void PipelineRun::say_if_no_window() const {
  const bool works = std::any_of(heads_.begin(), heads_.end(), [](const Head &head) {
    return !head.off && (head.instance->component().flags & ATALAYA_PUSH) == 0;
  });
  if (!started_ || had_window_ || !works) return;
  log(LogLevel::info, "pipeline \"" + description_.name + "\": stopped before its first window of " +
                          format_duration(description_.every_ns) + " ended: metrics of a whole window are missing");
}

bool PipelineRun::stop_sources(int64_t deadline_ns) {
  say_if_no_window();
  started_ = false;
  bool clean = true;
  for (size_t i = 0; i < heads_.size(); ++i) {
    Head &head = heads_[i];
    if (head.thread == nullptr) continue;
    const bool has_held = holds(description_.sources[i]) && !head.off;
    const bool ended = head.thread->stop(deadline_ns, has_held);
    while (auto arrival = head.thread->take()) arrived(head, std::move(*arrival));
    if (has_held && !ended) transaction_.counts(*head.row).gaps = 1;
    count_tally(head, 0);
    transaction_.commit(shared_.ledger);
    clean = clean && ended;
    if (ended) stop_instance(*head.instance);
  }
  if (processed_) hand_on_held(last_call_after(*processed_));
  for (Head &head : heads_)
    if (head.thread == nullptr) stop_instance(*head.instance);
  return clean;
}

// The samples that sources and stages hold.
void PipelineRun::hand_on_held(const atalaya_window &window) {
  BatchOwner batch = shared_.pool->take();
  for (size_t i = 0; i < heads_.size(); ++i)
    if (heads_[i].thread == nullptr && !heads_[i].off && holds(description_.sources[i])) collect(heads_[i], window, *batch);
  process(std::move(batch), window, nullptr, transaction_);
  transaction_.commit(shared_.ledger);
}

void PipelineRun::stop_stages() {
  for (Stage &stage : stages_)
    if (stage.instance) stop_instance(*stage.instance);
}

void PipelineRun::connect(const std::vector<std::shared_ptr<SinkWorker>> &sinks, std::vector<PipelineRun *> children) {
  sinks_.clear();
  for (const auto &sink : sinks) sinks_.emplace_back(sink, &shared_.ledger.row(RowType::sink, description_.name, sink->name()));
  children_ = std::move(children);
}

bool PipelineRun::tick(const ClockReading &now) {
  const bool paused = blocked();
  const WindowClock::Tick tick = clock_->tick(now, paused);
  if (paused) log_limited(LogLevel::warning, "pipeline \"" + description_.name + "\": paused, a sink's queue is full");
  BatchOwner batch = shared_.pool->take();
  for (Head &head : heads_) {
    if (head.off || (head.instance->component().flags & ATALAYA_PUSH) != 0) continue;
    Counts &counts = transaction_.counts(*head.row);
    counts.gaps = tick.gaps;
    if (!tick.collect) continue;
    if (now.monotonic < head.resume_at) {
      ++counts.gaps;
    } else if (head.thread != nullptr) {
      if (!head.thread->request(tick.window)) ++counts.gaps;
    } else {
      collect(head, tick.window, *batch);
    }
  }
  if (!tick.collect) {
    shared_.pool->give_back(std::move(batch));
    transaction_.commit(shared_.ledger);
    return false;
  }
  process(std::move(batch), tick.window, nullptr, transaction_);
  transaction_.commit(shared_.ledger);
  const bool whole = (tick.window.flags & ATALAYA_WINDOW_BASELINE) == 0;
  had_window_ = had_window_ || whole;
  return whole;
}

void PipelineRun::collect(Head &head, const atalaya_window &window, Batch &batch) {
  const uint64_t before = batch.count();
  const int64_t begin = monotonic();
  const Outcome outcome = head.instance->collect(window, batch);
  const int64_t end = monotonic();
  Counts &counts = transaction_.counts(*head.row);
  counts.busy_ns = end - begin;
  judge(head, outcome, end, counts);
  account_source(head, batch, before, window);
}

// The effect of a source's answer on its next windows.
void PipelineRun::judge(Head &head, const Outcome &outcome, int64_t now, Counts &counts) {
  if (outcome.ok()) {
    head.failures = 0;
    return;
  }
  if (outcome.code == ATALAYA_END) {
    head.off = true;
    return;
  }
  if (outcome.unavailable) {  // the supervisor reports it and has its own back-off
    ++counts.gaps;
    return;
  }
  ++counts.errors;
  if (outcome.code == ATALAYA_UNSUPPORTED || outcome.code == ATALAYA_BAD_CONFIG) {
    head.off = head.unsupported = true;
    log(LogLevel::warning, head.instance->label() + ": off: " + outcome.text);
    return;
  }
  log_limited(LogLevel::warning, head.instance->label() + ": " + outcome.text, head.instance->label());
  head.failures = std::min(head.failures + 1, kMaxBackOff);
  // The first failure costs no window; then 1, 3, 7 ... are skipped.
  head.resume_at = now + ((int64_t{1} << (head.failures - 1)) - 1) * description_.every_ns;
}

// A source's samples and its own counts.
void PipelineRun::count_tally(Head &head, int64_t given) {
  const Tally tally = head.surroundings->take();
  Counts &counts = transaction_.counts(*head.row);
  counts.restarts = head.surroundings->take_restarts();
  counts.out = given;
  counts.created = given + tally.dropped + tally.merged;
  counts.merged = tally.merged;
  for (const auto &[reason, samples] : tally.reasons) transaction_.dropped(*head.row, reason, samples);
}

void PipelineRun::account_source(Head &head, Batch &batch, uint64_t before, const atalaya_window &window) {
  count_tally(head, static_cast<int64_t>(batch.count() - before));
  uint64_t removed = 0;
  atalaya_str host{nullptr, 0};
  for (uint64_t i = before; i < batch.count(); ++i) {
    atalaya_sample &sample = batch.raw().samples[i];
    if (sample.time_ns == 0) {
      sample.time_ns = window.time_ns;
      sample.duration_ns = window.duration_ns;
    }
    removed += remove_non_finite(sample);
    const auto *tags_end = sample.tags + sample.tag_count;
    if (std::any_of(static_cast<const atalaya_tag *>(sample.tags), tags_end,
                    [&](const atalaya_tag &tag) { return tag.key == shared_.host_key; }))
      continue;
    if (host.size == 0) host = batch.copy(shared_.host);
    batch.reserve(sample, sample.tag_count + 1, sample.field_count);
    sample.tags[sample.tag_count++] = {shared_.host_key, 0, host};
  }
  if (removed > 0)
    log_limited(LogLevel::warning, head.instance->label() + ": gave values that are not finite numbers; they are left out");
}

bool PipelineRun::take_arrivals() {
  bool any = false;
  for (Head &head : heads_) {
    if (head.thread == nullptr || blocked()) continue;
    auto arrival = head.thread->take();
    if (!arrival) continue;
    arrived(head, std::move(*arrival));
    any = true;
  }
  return any;
}

void PipelineRun::arrived(Head &head, SourceThread::Arrival arrival) {
  Counts &counts = transaction_.counts(*head.row);
  counts.busy_ns = arrival.busy_ns;
  judge(head, arrival.outcome, monotonic(), counts);
  account_source(head, *arrival.batch, 0, arrival.window);
  std::shared_ptr<Acknowledgement> ack;
  if (arrival.id != 0) ack = std::make_shared<Acknowledgement>(head.instance, arrival.id);
  process(std::move(arrival.batch), arrival.window, ack, transaction_);
  transaction_.commit(shared_.ledger);
}

bool PipelineRun::ended() const {
  return std::all_of(heads_.begin(), heads_.end(),
                     [](const Head &head) { return head.off || (head.thread != nullptr && head.thread->ended()); });
}

bool PipelineRun::unsupported() const {
  return std::any_of(heads_.begin(), heads_.end(), [](const Head &head) { return head.unsupported; });
}

bool PipelineRun::blocked() const {
  const std::lock_guard lock(shared_.ledger.mutex());
  return any_sink_full();
}

bool PipelineRun::any_sink_full() const {
  return std::any_of(sinks_.begin(), sinks_.end(), [](const auto &sink) { return sink.first->full(); }) ||
         std::any_of(children_.begin(), children_.end(), [](const PipelineRun *child) { return child->any_sink_full(); });
}

}  // namespace atalaya::core
