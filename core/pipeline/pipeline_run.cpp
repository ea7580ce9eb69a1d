// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/pipeline_run.h"

#include <algorithm>

#include "core/base/log.h"
#include "core/base/text/units.h"
#include "core/pipeline/component_names.h"

namespace atalaya::core {

PipelineRun::PipelineRun(PipelineDescription description, PipelineServices &services)
    : description_(std::move(description)), functions_(description_.functions), services_(services) {
  const bool has_pull_source =
      std::any_of(description_.sources.begin(), description_.sources.end(),
                  [](const StageDescription &source) { return (source.component.component->flags & ATALAYA_PUSH) == 0; });
  if (has_pull_source) clock_.emplace(description_.every_ns);
}

PipelineRun::~PipelineRun() = default;

Status PipelineRun::create() {
  size_t position = 0;
  sources_.reserve(description_.sources.size());
  for (const StageDescription &description : description_.sources) {
    SourceRun source(description, description_.every_ns, services_);
    if (Status made = source.create(description_.name, component_label(description_.name, description),
                                    ledger_name(++position, description), component_state_dir(description_, description));
        !made)
      return made;
    sources_.push_back(std::move(source));
  }
  if (!description_.from.empty())
    input_row_ =
        &services_.ledger.row(RowType::source, description_.name, std::to_string(++position) + " from " + description_.from);
  return stages_.create(description_, position, services_);
}

Status PipelineRun::start() {
  if (Status started = stages_.start(description_.name); !started) return started;
  for (SourceRun &source : sources_)
    if (const Outcome outcome = source.start(); !outcome.ok())
      return at_location(source.description().where, description_.name, source.description(), outcome.text);
  started_ = true;
  return Done{};
}

// Users of `try` see the reason when metrics of complete windows are missing.
void PipelineRun::log_missing_window() const {
  const bool collects =
      std::any_of(sources_.begin(), sources_.end(), [](const SourceRun &source) { return !source.off() && !source.is_push(); });
  if (!started_ || had_complete_window_ || !collects) return;
  log(LogLevel::info, "pipeline \"" + description_.name + "\": stopped before its first window of " +
                          format_duration(description_.every_ns) + " ended: metrics of a whole window are missing");
}

bool PipelineRun::stop_sources(int64_t deadline_ns) {
  log_missing_window();
  started_ = false;
  bool all_ended = true;
  for (SourceRun &source : sources_) {
    if (!source.has_thread()) continue;
    const bool last_call = source.has_retained_samples();
    const bool ended = source.stop_thread(deadline_ns, last_call);
    while (process_arrival(source)) {
    }
    source.count_end(last_call && !ended ? 1 : 0, transaction_);
    transaction_.commit(services_.ledger);
    all_ended = all_ended && ended;
    if (ended) source.stop_instance();
  }
  if (newest_window_) process_retained(last_call_after(*newest_window_));
  for (SourceRun &source : sources_)
    if (!source.has_thread()) source.stop_instance();
  return all_ended;
}

// Processes the samples that sources and stages retain.
void PipelineRun::process_retained(const atalaya_window &last_call) {
  BatchOwner batch = services_.pool->take();
  for (SourceRun &source : sources_)
    if (!source.has_thread() && source.has_retained_samples()) source.collect(last_call, *batch, transaction_);
  process(std::move(batch), last_call, nullptr, transaction_);
  transaction_.commit(services_.ledger);
}

void PipelineRun::connect(const std::vector<std::shared_ptr<SinkWorker>> &sinks, std::vector<PipelineRun *> children) {
  output_.connect(description_.name, sinks, std::move(children), services_.ledger);
}

void PipelineRun::set_description(PipelineDescription description) {
  description_ = std::move(description);
  for (size_t i = 0; i < sources_.size(); ++i) sources_[i].set_description(description_.sources[i]);
  stages_.set_descriptions(description_.stages);
}

bool PipelineRun::tick(const ClockReading &now) {
  const bool paused = blocked();
  const WindowClock::Tick tick = clock_->tick(now, paused);
  if (paused) log_limited(LogLevel::warning, "pipeline \"" + description_.name + "\": paused, a sink's queue is full");
  BatchOwner batch = services_.pool->take();
  for (SourceRun &source : sources_) source.tick(tick, now.monotonic, *batch, transaction_);
  if (!tick.collect) {
    services_.pool->return_batch(std::move(batch));
    transaction_.commit(services_.ledger);
    return false;
  }
  process(std::move(batch), tick.window, nullptr, transaction_);
  transaction_.commit(services_.ledger);
  const bool complete = (tick.window.flags & ATALAYA_WINDOW_BASELINE) == 0;
  had_complete_window_ = had_complete_window_ || complete;
  return complete;
}

bool PipelineRun::process_arrivals() {
  bool any = false;
  for (SourceRun &source : sources_) {
    if (!source.has_thread() || blocked()) continue;
    any = process_arrival(source) || any;
  }
  return any;
}

// False when no batch of the source's thread waits.
bool PipelineRun::process_arrival(SourceRun &source) {
  auto arrival = source.next_arrival(transaction_);
  if (!arrival) return false;
  process(std::move(arrival->batch), arrival->window, arrival->ack, transaction_);
  transaction_.commit(services_.ledger);
  return true;
}

void PipelineRun::receive(const BatchRef &batch, const atalaya_window &window, const std::shared_ptr<Acknowledgement> &ack,
                          Transaction &transaction) {
  Counts &counts = transaction.counts(*input_row_);
  counts.in = counts.out = static_cast<int64_t>(batch->count());
  if (stages_.empty()) return output_.forward(batch, window, ack, transaction);
  BatchOwner copy = services_.pool->take();
  copy->append(batch->raw());
  process(std::move(copy), window, ack, transaction);
}

void PipelineRun::process(BatchOwner batch, const atalaya_window &window, const std::shared_ptr<Acknowledgement> &ack,
                          Transaction &transaction) {
  const bool is_last = (window.flags & ATALAYA_WINDOW_LAST) != 0;
  // The window of a slow source may arrive after newer ones.
  if (!is_last && (!newest_window_ || window.monotonic_ns >= newest_window_->monotonic_ns)) newest_window_ = window;
  output_.forward(stages_.process(std::move(batch), window, ack, transaction), window, ack, transaction);
}

bool PipelineRun::ended() const {
  return std::all_of(sources_.begin(), sources_.end(), [](const SourceRun &source) { return source.ended(); });
}

bool PipelineRun::unsupported() const {
  return std::any_of(sources_.begin(), sources_.end(), [](const SourceRun &source) { return source.unsupported(); });
}

bool PipelineRun::blocked() const {
  const std::lock_guard lock(services_.ledger.mutex());
  return output_.any_sink_full();
}

}  // namespace atalaya::core
