// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/config/description.h"
#include "core/delivery/sink_worker.h"
#include "core/ledger/counting.h"
#include "core/pipeline/clock.h"
#include "core/pipeline/pipeline_services.h"
#include "core/pipeline/source_thread.h"
#include "core/pipeline/transaction.h"

namespace atalaya::core {

// One source of a running pipeline. After a failed collect it skips windows, twice as many each time (back-off).
class SourceRun {
 public:
  SourceRun(StageDescription description, int64_t interval_ns, PipelineServices &services)
      : description_(std::move(description)), interval_ns_(interval_ns), services_(&services) {}

  // Creates the instance. component_names.h gives the label, the name of the ledger row, the state folder.
  Status create(const std::string &pipeline, const std::string &label, const std::string &row_name, const std::string &state_dir);
  // Starts the instance, then its thread if it has one. A source that is not supported on this host is off; that is no error.
  Outcome start();
  // Replaces the description by the one of a newer file that differs only in its lines.
  void set_description(const StageDescription &description) { description_ = description; }

  // One tick of the pipeline's clock. A source without a thread appends its samples to `batch`; a source with a thread receives the
  // window as a request. Counts windows without a sample as gaps.
  void tick(const WindowClock::Tick &tick, int64_t now_ns, Batch &batch, Transaction &transaction);
  // Appends the samples of one window to `batch`; sources without a thread only.
  void collect(const atalaya_window &window, Batch &batch, Transaction &transaction);

  struct Arrival {
    BatchOwner batch;
    atalaya_window window{};
    std::shared_ptr<Acknowledgement> ack;  // null for collected batches
  };
  // The next batch of the source's thread, counted. Nothing when no batch waits.
  std::optional<Arrival> next_arrival(Transaction &transaction);

  // Ends the thread. False when the source hangs past the deadline. With `last_call`, the thread first collects retained samples.
  bool stop_thread(int64_t deadline_ns, bool last_call) { return thread_->stop(deadline_ns, last_call); }
  // Counts what the source reported since its last batch. `missing_windows` are counted as gaps.
  void count_end(int64_t missing_windows, Transaction &transaction);
  void stop_instance();

  const StageDescription &description() const { return description_; }
  bool has_thread() const { return thread_ != nullptr; }
  bool is_push() const;
  bool off() const { return off_; }  // ended, or not supported on this host
  bool unsupported() const { return unsupported_; }
  // Whether the source will bring no more samples.
  bool ended() const { return off_ || (thread_ != nullptr && thread_->ended()); }
  // Whether the source retains samples that a last call collects.
  bool has_retained_samples() const;

 private:
  atalaya_window window_since_last(atalaya_window window) const;
  void apply_outcome(const Outcome &outcome, int64_t now_ns, Counts &counts);
  void count_samples(Batch &batch, uint64_t first, const atalaya_window &window, Transaction &transaction);
  void count_tally(int64_t emitted, Transaction &transaction);

  StageDescription description_;
  int64_t interval_ns_;
  PipelineServices *services_;
  CountingSurroundings *surroundings_ = nullptr;
  SourceThread *thread_ = nullptr;      // the same object as surroundings_, if the source has a separate thread
  std::shared_ptr<Instance> instance_;  // owns its surroundings: acknowledgements may outlive the pipeline
  LedgerRow *row_ = nullptr;
  unsigned failures_ = 0;                   // number of consecutive failed collects
  int64_t retry_at_ = 0;                    // no collect before this CLOCK_MONOTONIC time
  std::optional<int64_t> last_reading_ns_;  // CLOCK_MONOTONIC time at the end of its last window
  bool missed_baseline_ = false;            // a baseline was missed since that window
  bool off_ = false;
  bool unsupported_ = false;
};

}  // namespace atalaya::core
