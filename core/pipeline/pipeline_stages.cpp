// SPDX-License-Identifier: Apache-2.0
// The way of a batch through the stages of a pipeline, into its sinks and branches.
#include <algorithm>
#include <string>
#include <utility>

#include "core/base/log.h"
#include "core/base/now.h"
#include "core/pipeline/pipeline_run.h"

namespace atalaya::core {

// Samples for longer than a window.
bool PipelineRun::holds(const StageDescription &stage) {
  return stage.function == 0 && (stage.component.component->flags & ATALAYA_HOLDS) != 0;
}

void PipelineRun::process(BatchOwner batch, const atalaya_window &window, const std::shared_ptr<Acknowledgement> &ack,
                          Transaction &transaction) {
  const bool is_last = (window.flags & ATALAYA_WINDOW_LAST) != 0;
  // The window of a slow source may arrive after newer ones.
  if (!is_last && (!processed_ || window.monotonic_ns >= processed_->monotonic_ns)) processed_ = window;
  collected_ = batch->count();
  for (size_t i = 0; i < stages_.size(); ++i) {
    if (is_last && batch->count() == 0 && !holds(description_.stages[i])) continue;
    if (stages_[i].instance) {
      run_stage(i, window, *batch, ack, transaction);
    } else {
      run_function(i, *batch, ack, transaction);
    }
  }
  hand_on(freeze(std::move(batch)), window, ack, transaction);
}

// Queues are bounded in bytes: a few samples must not keep the memory of many that were filtered out. Their copy stays out of the
// pool, where a later window would make it large: one more large batch per window that waits in a queue.
BatchRef PipelineRun::freeze(BatchOwner batch) {
  static constexpr size_t kSlack = 16384;
  if (batch->held_bytes() <= 4 * batch->used_bytes() + kSlack && batch->count() >= collected_ / 4)
    return shared_.pool->freeze(std::move(batch));
  const size_t expected = batch->used_bytes() * batch->count() / std::max<uint64_t>({collected_, batch->count(), 1});
  auto compact = std::make_shared<Batch>(expected + 1024);
  compact->append(batch->raw());
  shared_.pool->give_back(std::move(batch));
  return compact;
}

void PipelineRun::hand_on(const BatchRef &batch, const atalaya_window &window, const std::shared_ptr<Acknowledgement> &ack,
                          Transaction &transaction) {
  if (batch->count() > 0)
    for (const auto &[sink, row] : sinks_) transaction.deliver(*sink, {batch, row, ack});
  for (PipelineRun *child : children_) child->take_from(batch, window, ack, transaction);
}

// The takers of a branch share the batch read-only; one that edits works on a copy.
void PipelineRun::take_from(const BatchRef &batch, const atalaya_window &window, const std::shared_ptr<Acknowledgement> &ack,
                            Transaction &transaction) {
  Counts &counts = transaction.counts(*from_row_);
  counts.in = counts.out = static_cast<int64_t>(batch->count());
  if (stages_.empty()) return hand_on(batch, window, ack, transaction);
  BatchOwner copy = shared_.pool->take();
  copy->append(batch->raw());
  process(std::move(copy), window, ack, transaction);
}

void PipelineRun::run_stage(size_t index, const atalaya_window &window, Batch &batch, const std::shared_ptr<Acknowledgement> &ack,
                            Transaction &transaction) {
  Stage &stage = stages_[index];
  const auto before = static_cast<int64_t>(batch.count());
  const int64_t begin = monotonic();
  const Outcome outcome = stage.instance->process(window, batch);
  const int64_t busy = monotonic() - begin;
  const Tally tally = stage.surroundings->take();
  const int64_t restarts = stage.surroundings->take_restarts();
  if (!outcome.ok()) {
    if (!outcome.unavailable)  // the supervisor reports it
      log_limited(LogLevel::error, stage.instance->label() + ": " + outcome.text + "; the window's samples are dropped",
                  stage.instance->label());
    batch.raw().count = 0;
    if (ack) ack->refuse();
    transaction.dropped(*stage.row, outcome.unavailable ? "stage unavailable" : "stage failed", before);
    Counts &counts = transaction.counts(*stage.row);
    counts.restarts = restarts;
    counts.in = before;
    counts.errors = 1;
    counts.busy_ns = busy;
    return;
  }
  const auto after = static_cast<int64_t>(batch.count());
  // Samples that the stage did not count itself: missing ones are dropped, extra ones are created.
  const int64_t uncounted = before + tally.created - after - tally.dropped - tally.merged;
  for (const auto &[reason, samples] : tally.reasons) transaction.dropped(*stage.row, reason, samples);
  if (uncounted > 0) transaction.dropped(*stage.row, "filtered", uncounted);
  Counts &counts = transaction.counts(*stage.row);
  counts.in = before;
  counts.out = after;
  counts.created = tally.created + (uncounted < 0 ? -uncounted : 0);
  counts.merged = tally.merged;
  counts.restarts = restarts;
  counts.busy_ns = busy;
  if (after > 0 || uncounted > 0) watch(index, counts);
}

// Reports once that a stage has passed nothing: its names or thresholds may be wrong. A stage that counts its drops itself knows.
void PipelineRun::watch(size_t index, const Counts &counts) {
  static constexpr unsigned kEmptyWindows = 10;
  Stage &stage = stages_[index];
  stage.passed = stage.passed || counts.out > 0;
  if (stage.passed || counts.in == 0 || ++stage.empty_windows < kEmptyWindows) return;
  stage.passed = true;
  const StageDescription &description = description_.stages[index];
  log(LogLevel::warning, at_location(description.where, description_.name, description, "").text + "has passed no sample in " +
                             std::to_string(kEmptyWindows) + " windows; check its names and limits");
}

void PipelineRun::run_function(size_t index, Batch &batch, const std::shared_ptr<Acknowledgement> &ack, Transaction &transaction) {
  const StageDescription &description = description_.stages[index];
  Stage &stage = stages_[index];
  const auto before = static_cast<int64_t>(batch.count());
  const int64_t begin = monotonic();
  const bool pass_failed = description.on_error == OnError::pass;
  const FunctionHost::Result result = functions_->apply(description.function, batch, pass_failed);
  const int64_t busy = monotonic() - begin;
  if (result.failed > 0)
    log_limited(LogLevel::warning, "pipeline \"" + description_.name + "\": function: " + result.error,
                description_.name + stage.row->component);
  if (result.failed > 0 && !pass_failed && ack) ack->refuse();
  transaction.dropped(*stage.row, "filtered", static_cast<int64_t>(result.dropped));
  if (!pass_failed) transaction.dropped(*stage.row, "function failed", static_cast<int64_t>(result.failed));
  Counts &counts = transaction.counts(*stage.row);
  counts.in = before;
  counts.out = static_cast<int64_t>(batch.count());
  counts.errors = static_cast<int64_t>(result.failed);
  counts.busy_ns = busy;
  watch(index, counts);
}

}  // namespace atalaya::core
