// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/config/description.h"
#include "core/pipeline/clock.h"
#include "core/pipeline/pipeline_output.h"
#include "core/pipeline/pipeline_services.h"
#include "core/pipeline/source_run.h"
#include "core/pipeline/stage_chain.h"
#include "core/pipeline/transaction.h"

namespace atalaya::core {

// One running pipeline: moves the batches of its sources through the stages to the output.
//
//   SourceRun ... -> StageChain -> PipelineOutput -> sinks, child pipelines
//
// Only one thread at a time uses it, the engine's thread or a lane's. The ledger rows of a window change in one transaction.
class PipelineRun {
 public:
  PipelineRun(PipelineDescription description, PipelineServices &services);
  PipelineRun(const PipelineRun &) = delete;
  PipelineRun &operator=(const PipelineRun &) = delete;
  ~PipelineRun();

  Status create();
  Status start();
  // Stops the sources; samples that they have collected are still processed. False when a source hangs: the pipeline must then not
  // be destroyed.
  bool stop_sources(int64_t deadline_ns);
  void stop_stages() { stages_.stop(); }

  // Sets the receivers of the output. Sinks and children must outlive the connection.
  void connect(const std::vector<std::shared_ptr<SinkWorker>> &sinks, std::vector<PipelineRun *> children);
  const PipelineOutput &output() const { return output_; }
  // Replaces the description by the one of a newer file that differs only in its lines.
  void set_description(PipelineDescription description);
  const PipelineDescription &description() const { return description_; }

  // CLOCK_MONOTONIC time of the next window; INT64_MAX for a pipeline without windows.
  int64_t deadline() const { return clock_ ? clock_->deadline() : INT64_MAX; }
  // Collects and processes the window that is due. Returns whether it was a complete window.
  bool tick(const ClockReading &now);
  // Processes one batch of each source thread. False when no batch waits, or a full sink blocks.
  bool process_arrivals();
  // Processes a batch of the parent pipeline. The parent and its children share the batch, so a pipeline with stages copies it.
  void receive(const BatchRef &batch, const atalaya_window &window, const std::shared_ptr<Acknowledgement> &ack,
               Transaction &transaction);
  // Whether a sink, here or in a child, is full and its policy is to block. Locks the ledger's mutex.
  bool blocked() const;
  // Whether no source will bring more samples.
  bool ended() const;
  // Whether a source is not supported on this host.
  bool unsupported() const;
  bool running() const { return started_; }
  bool has_functions() const { return functions_ != nullptr; }

 private:
  void log_missing_window() const;
  void process(BatchOwner batch, const atalaya_window &window, const std::shared_ptr<Acknowledgement> &ack,
               Transaction &transaction);
  bool process_arrival(SourceRun &source);
  void process_retained(const atalaya_window &last_call);

  PipelineDescription description_;
  std::shared_ptr<FunctionHost> functions_;
  PipelineServices &services_;
  std::optional<WindowClock> clock_;
  std::vector<SourceRun> sources_;
  StageChain stages_;
  LedgerRow *input_row_ = nullptr;  // row of the parent pipeline's output
  PipelineOutput output_;
  Transaction transaction_;
  std::optional<atalaya_window> newest_window_;  // the latest processed window
  bool started_ = false;
  bool had_complete_window_ = false;
};

}  // namespace atalaya::core
