// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <memory>
#include <string>
#include <utility>

#include "core/config/description.h"
#include "core/config/functions/functions.h"
#include "core/delivery/sink_worker.h"
#include "core/ledger/counting.h"
#include "core/pipeline/pipeline_services.h"
#include "core/pipeline/transaction.h"

namespace atalaya::core {

// One stage of a running pipeline: a component or an inline function, which edits each batch in place.
class StageRun {
 public:
  // `functions` runs the inline functions of the file; null if the pipeline has none.
  StageRun(std::string pipeline, StageDescription description, std::shared_ptr<FunctionHost> functions)
      : pipeline_(std::move(pipeline)), description_(std::move(description)), functions_(std::move(functions)) {}

  // Creates the instance. component_names.h gives the label, the name of the ledger row, the state folder.
  Status create(const std::string &label, const std::string &row_name, const std::string &state_dir, PipelineServices &services);
  Outcome start();
  void stop();
  // Replaces the description by the one of a newer file that differs only in its lines.
  void set_description(const StageDescription &description) { description_ = description; }
  const StageDescription &description() const { return description_; }

  // Edits the batch; its samples enter the counts of the transaction. A failure refuses the acknowledgement `ack`, which may be
  // null.
  void process(const atalaya_window &window, Batch &batch, const std::shared_ptr<Acknowledgement> &ack, Transaction &transaction);

 private:
  void call_component(const atalaya_window &window, Batch &batch, const std::shared_ptr<Acknowledgement> &ack,
                      Transaction &transaction);
  void call_function(Batch &batch, const std::shared_ptr<Acknowledgement> &ack, Transaction &transaction);
  void warn_if_all_dropped(const Counts &counts);

  std::string pipeline_;  // the pipeline's name
  StageDescription description_;
  std::shared_ptr<FunctionHost> functions_;
  std::unique_ptr<CountingSurroundings> surroundings_;
  std::unique_ptr<Instance> instance_;  // null for an inline function
  LedgerRow *row_ = nullptr;
  unsigned empty_windows_ = 0;   // windows since the start with input samples and without output samples
  bool output_checked_ = false;  // the stage has passed a sample, or the warning was logged
};

}  // namespace atalaya::core
