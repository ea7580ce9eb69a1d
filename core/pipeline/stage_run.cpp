// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/stage_run.h"

#include "core/base/log.h"
#include "core/base/now.h"
#include "core/pipeline/component_names.h"

namespace atalaya::core {

Status StageRun::create(const std::string &label, const std::string &row_name, const std::string &state_dir,
                        PipelineServices &services) {
  row_ = &services.ledger.row(RowType::stage, pipeline_, row_name);
  surroundings_ = std::make_unique<CountingSurroundings>(services.ledger, state_dir);
  if (description_.function != 0) return Done{};
  auto instance = make_instance(description_.isolation, description_.component, description_.parameters, label, services.symbols,
                                *surroundings_, services.launcher);
  if (!instance) return Error{prefix_of(description_.where) + instance.error()};
  instance_ = std::move(*instance);
  return Done{};
}

Outcome StageRun::start() {
  return instance_ ? instance_->start() : Outcome{};
}

void StageRun::stop() {
  if (!instance_) return;
  if (const Outcome outcome = instance_->stop(); !outcome.ok())
    log(LogLevel::error, instance_->label() + ": stop: " + outcome.text);
}

void StageRun::process(const atalaya_window &window, Batch &batch, const std::shared_ptr<Acknowledgement> &ack,
                       Transaction &transaction) {
  if (instance_) {
    call_component(window, batch, ack, transaction);
  } else {
    call_function(batch, ack, transaction);
  }
}

void StageRun::call_component(const atalaya_window &window, Batch &batch, const std::shared_ptr<Acknowledgement> &ack,
                              Transaction &transaction) {
  const auto before = static_cast<int64_t>(batch.count());
  const int64_t start = monotonic();
  const Outcome outcome = instance_->process(window, batch);
  const int64_t busy = monotonic() - start;
  const Tally tally = surroundings_->take();
  const int64_t restarts = surroundings_->take_restarts();
  if (!outcome.ok()) {
    if (!outcome.unavailable)  // the supervisor logs it
      log_limited(LogLevel::error, instance_->label() + ": " + outcome.text + "; the window's samples are dropped",
                  instance_->label());
    batch.raw().count = 0;
    if (ack) ack->refuse();
    transaction.dropped(*row_, outcome.unavailable ? "stage unavailable" : "stage failed", before);
    Counts &counts = transaction.counts(*row_);
    counts.restarts = restarts;
    counts.in = before;
    counts.errors = 1;
    counts.busy_ns = busy;
    return;
  }
  const auto after = static_cast<int64_t>(batch.count());
  // Samples that the stage did not count itself: missing ones are dropped, extra ones are created.
  const int64_t uncounted = before + tally.created - after - tally.dropped - tally.merged;
  for (const auto &[reason, samples] : tally.reasons) transaction.dropped(*row_, reason, samples);
  if (uncounted > 0) transaction.dropped(*row_, "filtered", uncounted);
  Counts &counts = transaction.counts(*row_);
  counts.in = before;
  counts.out = after;
  counts.created = tally.created + (uncounted < 0 ? -uncounted : 0);
  counts.merged = tally.merged;
  counts.restarts = restarts;
  counts.busy_ns = busy;
  if (after > 0 || uncounted > 0) warn_if_all_dropped(counts);
}

void StageRun::call_function(Batch &batch, const std::shared_ptr<Acknowledgement> &ack, Transaction &transaction) {
  const auto before = static_cast<int64_t>(batch.count());
  const int64_t start = monotonic();
  const bool pass_failed = description_.on_error == OnError::pass;
  const FunctionHost::Result result = functions_->apply(description_.function, batch, pass_failed);
  const int64_t busy = monotonic() - start;
  if (result.failed > 0)
    log_limited(LogLevel::warning, "pipeline \"" + pipeline_ + "\": function: " + result.error, pipeline_ + row_->component);
  if (result.failed > 0 && !pass_failed && ack) ack->refuse();
  transaction.dropped(*row_, "filtered", static_cast<int64_t>(result.dropped));
  if (!pass_failed) transaction.dropped(*row_, "function failed", static_cast<int64_t>(result.failed));
  Counts &counts = transaction.counts(*row_);
  counts.in = before;
  counts.out = static_cast<int64_t>(batch.count());
  counts.errors = static_cast<int64_t>(result.failed);
  counts.busy_ns = busy;
  warn_if_all_dropped(counts);
}

// Warns once if the stage drops every sample of its first windows: its names or limits may be wrong. The caller leaves out stages
// that count their drops themselves.
void StageRun::warn_if_all_dropped(const Counts &counts) {
  static constexpr unsigned kEmptyWindows = 10;
  output_checked_ = output_checked_ || counts.out > 0;
  if (output_checked_ || counts.in == 0 || ++empty_windows_ < kEmptyWindows) return;
  output_checked_ = true;
  log(LogLevel::warning, at_location(description_.where, pipeline_, description_, "").text + "has passed no sample in " +
                             std::to_string(kEmptyWindows) + " windows; check its names and limits");
}

}  // namespace atalaya::core
