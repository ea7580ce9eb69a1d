// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/description.h"
#include "core/config/functions/functions.h"
#include "core/delivery/sink_worker.h"
#include "core/ledger/counting.h"
#include "core/pipeline/clock.h"
#include "core/pipeline/source_thread.h"
#include "core/pipeline/transaction.h"

namespace atalaya::core {

// Shared by all pipelines of an engine.
struct Shared {
  Symbols &symbols;
  Ledger &ledger;
  std::shared_ptr<BatchPool> pool;
  std::string host;  // value of the tag that samples without one get
  uint32_t host_key = 0;
  std::function<void()> wake_engine;
  Launcher *launcher = nullptr;
};

// One running pipeline. One thread at a time, the engine's or that of its lane, except the threads of its sources.
class PipelineRun {
 public:
  PipelineRun(PipelineDescription description, Shared &shared);
  PipelineRun(const PipelineRun &) = delete;
  PipelineRun &operator=(const PipelineRun &) = delete;
  ~PipelineRun();

  Status create();
  Status start();
  // Collected samples still pass through. False when a source hangs: the pipeline must then stay alive.
  bool stop_sources(int64_t deadline_ns);
  void stop_stages();

  // Where the output goes. Sinks and children outlive the wiring.
  void connect(const std::vector<std::shared_ptr<SinkWorker>> &sinks, std::vector<PipelineRun *> children);
  // The same pipeline in a newer file: other lines, nothing else.
  void rename_locations(PipelineDescription description) { description_ = std::move(description); }
  const PipelineDescription &description() const { return description_; }

  // CLOCK_MONOTONIC time of the next window; INT64_MAX without one.
  int64_t deadline() const { return clock_ ? clock_->deadline() : INT64_MAX; }
  // The window is due: collects and processes it. Returns whether it was a whole window.
  bool tick(const ClockReading &now);
  // Processes one batch of each source thread that brought some; false when there was none, or a sink blocks.
  bool take_arrivals();
  // A sink here or downstream is full and its policy is to block. Takes the ledger's lock.
  bool blocked() const;
  // No source will bring anything more.
  bool ended() const;
  // A source of it cannot work here.
  bool unsupported() const;
  bool running() const { return started_; }
  bool has_functions() const { return functions_ != nullptr; }

 private:
  struct Head {
    CountingSurroundings *surroundings = nullptr;
    SourceThread *thread = nullptr;      // the surroundings, if the source has a thread of its own
    std::shared_ptr<Instance> instance;  // owns its surroundings too: acknowledgements may outlive the pipeline
    LedgerRow *row = nullptr;
    unsigned failures = 0;
    int64_t resume_at = 0;  // CLOCK_MONOTONIC; no collect before
    bool off = false;       // unsupported or ended
    bool unsupported = false;
  };
  struct Stage {
    std::unique_ptr<CountingSurroundings> surroundings;
    std::unique_ptr<Instance> instance;  // null for an inline function
    LedgerRow *row = nullptr;
    unsigned empty_windows = 0;  // since the start, with samples in and none out
    bool passed = false;         // a sample, or it was reported that none does
  };

  std::string state_dir_of(const StageDescription &stage) const;
  std::string label_of(const StageDescription &stage) const;
  Status failed(const StageDescription &stage, const std::string &text) const;
  Status create_head(const StageDescription &source, size_t position);
  void say_if_no_window() const;
  Status create_stage(const StageDescription &stage, size_t position);
  void collect(Head &head, const atalaya_window &window, Batch &batch);
  void arrived(Head &head, SourceThread::Arrival arrival);
  void judge(Head &head, const Outcome &outcome, int64_t now, Counts &counts);
  void count_tally(Head &head, int64_t given);
  void account_source(Head &head, Batch &batch, uint64_t before, const atalaya_window &window);
  static bool holds(const StageDescription &stage);
  void hand_on_held(const atalaya_window &window);
  void process(BatchOwner batch, const atalaya_window &window, const std::shared_ptr<Acknowledgement> &ack,
               Transaction &transaction);
  void take_from(const BatchRef &batch, const atalaya_window &window, const std::shared_ptr<Acknowledgement> &ack,
                 Transaction &transaction);
  void run_stage(size_t index, const atalaya_window &window, Batch &batch, const std::shared_ptr<Acknowledgement> &ack,
                 Transaction &transaction);
  void run_function(size_t index, Batch &batch, const std::shared_ptr<Acknowledgement> &ack, Transaction &transaction);
  void watch(size_t index, const Counts &counts);
  BatchRef freeze(BatchOwner batch);
  void hand_on(const BatchRef &batch, const atalaya_window &window, const std::shared_ptr<Acknowledgement> &ack,
               Transaction &transaction);
  bool any_sink_full() const;

  PipelineDescription description_;
  std::shared_ptr<FunctionHost> functions_;
  Shared &shared_;
  std::optional<WindowClock> clock_;
  std::vector<Head> heads_;
  std::vector<Stage> stages_;
  LedgerRow *from_row_ = nullptr;
  std::vector<std::pair<std::shared_ptr<SinkWorker>, LedgerRow *>> sinks_;
  std::vector<PipelineRun *> children_;
  Transaction transaction_;
  uint64_t collected_ = 0;                   // samples before the stages, of the batch that is processed
  std::optional<atalaya_window> processed_;  // the last one
  bool started_ = false;
  bool had_window_ = false;  // a whole one
};

// "pipeline "x": source "proc": text" with file:line before it.
Error at_location(const Location &where, const std::string &pipeline, const StageDescription &stage, const std::string &text);

}  // namespace atalaya::core
