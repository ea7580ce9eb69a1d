// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/source_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/log.h"
#include "core/base/now.h"
#include "core/pipeline/component_names.h"

namespace atalaya::core {
namespace {

constexpr unsigned kMaxBackOff = 6;  // 2^6 windows

// A call to an isolated process has no upper bound that the engine's thread could accept.
bool needs_thread(const StageDescription &source) {
  return source.isolation.on || (source.component.component->flags & (ATALAYA_PUSH | ATALAYA_BLOCKING)) != 0;
}

// An instance and its surroundings, which outlive it.
struct OwnedInstance {
  std::unique_ptr<CountingSurroundings> surroundings;
  std::unique_ptr<Instance> instance;
};

bool is_baseline(const atalaya_window &window) {
  return (window.flags & ATALAYA_WINDOW_BASELINE) != 0;
}

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

bool has_tag(const atalaya_sample &sample, uint32_t key) {
  const atalaya_tag *tags = sample.tags;
  return std::any_of(tags, tags + sample.tag_count, [&](const atalaya_tag &tag) { return tag.key == key; });
}

// Completes the samples from index `first` on. A sample without a time gets the window's time and duration; a sample without the
// tag `host_key` gets it with the value `host`. Fields that are not finite numbers are removed, because no sink can store them.
// Returns the number of removed fields.
uint64_t complete_samples(Batch &batch, uint64_t first, const atalaya_window &window, uint32_t host_key, std::string_view host) {
  uint64_t removed = 0;
  atalaya_str host_copy{nullptr, 0};
  for (uint64_t i = first; i < batch.count(); ++i) {
    atalaya_sample &sample = batch.raw().samples[i];
    if (sample.time_ns == 0) {
      sample.time_ns = window.time_ns;
      sample.duration_ns = window.duration_ns;
    }
    removed += remove_non_finite(sample);
    if (has_tag(sample, host_key)) continue;
    if (host_copy.size == 0) host_copy = batch.copy(host);
    batch.reserve(sample, sample.tag_count + 1, sample.field_count);
    sample.tags[sample.tag_count++] = {host_key, 0, host_copy};
  }
  return removed;
}

}  // namespace

Status SourceRun::create(const std::string &pipeline, const std::string &label, const std::string &row_name,
                         const std::string &state_dir) {
  row_ = &services_->ledger.row(RowType::source, pipeline, row_name);
  auto owned = std::make_shared<OwnedInstance>();
  if (needs_thread(description_)) {
    auto thread = std::make_unique<SourceThread>(services_->ledger, state_dir, services_->pool, services_->wake_engine);
    thread_ = thread.get();
    owned->surroundings = std::move(thread);
  } else {
    owned->surroundings = std::make_unique<CountingSurroundings>(services_->ledger, state_dir);
  }
  surroundings_ = owned->surroundings.get();
  auto made = make_instance(description_.isolation, description_.component, description_.parameters, label, services_->symbols,
                            *surroundings_, services_->launcher);
  if (!made) return Error{prefix_of(description_.where) + made.error()};
  owned->instance = std::move(*made);
  Instance *instance = owned->instance.get();
  instance_ = std::shared_ptr<Instance>(std::move(owned), instance);
  return Done{};
}

Outcome SourceRun::start() {
  const Outcome outcome = instance_->start();
  if (outcome.code == ATALAYA_UNSUPPORTED) {
    log(LogLevel::warning, instance_->label() + ": off: " + outcome.text);
    off_ = unsupported_ = true;
    return {};
  }
  if (outcome.ok() && thread_ != nullptr) thread_->run(*instance_);
  return outcome;
}

bool SourceRun::is_push() const {
  return (instance_->component().flags & ATALAYA_PUSH) != 0;
}

bool SourceRun::has_retained_samples() const {
  return !off_ && retains_samples(description_);
}

void SourceRun::tick(const WindowClock::Tick &tick, int64_t now_ns, Batch &batch, Transaction &transaction) {
  if (off_ || is_push()) return;
  Counts &counts = transaction.counts(*row_);
  counts.gaps = tick.gaps;
  if (!tick.collect) return;
  const atalaya_window window = window_since_last(tick.window);
  if (now_ns < retry_at_ || (thread_ != nullptr && !thread_->request(window))) {
    ++counts.gaps;
    missed_baseline_ = missed_baseline_ || is_baseline(tick.window);
    return;
  }
  last_reading_ns_ = window.monotonic_ns;
  missed_baseline_ = false;
  if (thread_ == nullptr) collect(window, batch, transaction);
}

// The source's own window begins where its last one ended: windows that the source missed are parts of it.
atalaya_window SourceRun::window_since_last(atalaya_window window) const {
  if (!last_reading_ns_ || missed_baseline_) window.flags |= ATALAYA_WINDOW_BASELINE;
  window.duration_ns = is_baseline(window) ? 0 : window.monotonic_ns - *last_reading_ns_;
  return window;
}

void SourceRun::collect(const atalaya_window &window, Batch &batch, Transaction &transaction) {
  const uint64_t first = batch.count();
  const int64_t start = monotonic();
  const Outcome outcome = instance_->collect(window, batch);
  const int64_t end = monotonic();
  Counts &counts = transaction.counts(*row_);
  counts.busy_ns = end - start;
  apply_outcome(outcome, end, counts);
  count_samples(batch, first, window, transaction);
}

// Derives from a call's outcome whether and when the source is called again.
void SourceRun::apply_outcome(const Outcome &outcome, int64_t now_ns, Counts &counts) {
  if (outcome.ok()) {
    failures_ = 0;
    return;
  }
  if (outcome.code == ATALAYA_END) {
    off_ = true;
    return;
  }
  if (outcome.unavailable) {  // the supervisor logs it and has a back-off of its own
    ++counts.gaps;
    return;
  }
  ++counts.errors;
  if (outcome.code == ATALAYA_UNSUPPORTED || outcome.code == ATALAYA_BAD_CONFIG) {
    off_ = unsupported_ = true;
    log(LogLevel::warning, instance_->label() + ": off: " + outcome.text);
    return;
  }
  log_limited(LogLevel::warning, instance_->label() + ": " + outcome.text, instance_->label());
  failures_ = std::min(failures_ + 1, kMaxBackOff);
  // The first failure skips no window; the next ones skip 1, 3, 7 ... windows.
  retry_at_ = now_ns + ((int64_t{1} << (failures_ - 1)) - 1) * interval_ns_;
}

// Counts `emitted` samples, plus those that the source itself counted.
void SourceRun::count_tally(int64_t emitted, Transaction &transaction) {
  const Tally tally = surroundings_->take();
  Counts &counts = transaction.counts(*row_);
  counts.restarts = surroundings_->take_restarts();
  counts.out = emitted;
  counts.created = emitted + tally.dropped + tally.merged;
  counts.merged = tally.merged;
  for (const auto &[reason, samples] : tally.reasons) transaction.dropped(*row_, reason, samples);
}

void SourceRun::count_samples(Batch &batch, uint64_t first, const atalaya_window &window, Transaction &transaction) {
  count_tally(static_cast<int64_t>(batch.count() - first), transaction);
  if (complete_samples(batch, first, window, services_->host_key, services_->host) > 0)
    log_limited(LogLevel::warning, instance_->label() + ": gave values that are not finite numbers; they are left out");
}

std::optional<SourceRun::Arrival> SourceRun::next_arrival(Transaction &transaction) {
  auto arrival = thread_->take();
  if (!arrival) return std::nullopt;
  Counts &counts = transaction.counts(*row_);
  counts.busy_ns = arrival->busy_ns;
  apply_outcome(arrival->outcome, monotonic(), counts);
  count_samples(*arrival->batch, 0, arrival->window, transaction);
  Arrival next{std::move(arrival->batch), arrival->window, nullptr};
  if (arrival->id != 0) next.ack = std::make_shared<Acknowledgement>(instance_, arrival->id);
  return next;
}

void SourceRun::count_end(int64_t missing_windows, Transaction &transaction) {
  transaction.counts(*row_).gaps = missing_windows;
  count_tally(0, transaction);
}

void SourceRun::stop_instance() {
  if (const Outcome outcome = instance_->stop(); !outcome.ok())
    log(LogLevel::error, instance_->label() + ": stop: " + outcome.text);
}

}  // namespace atalaya::core
