// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/delivery/sink_worker.h"
#include "core/ledger/ledger.h"
#include "core/pipeline/transaction.h"

namespace atalaya::core {

class PipelineRun;

// The receivers of a pipeline's batches: sinks and child pipelines (`from`). Both must outlive the connection.
class PipelineOutput {
 public:
  void connect(const std::string &pipeline, const std::vector<std::shared_ptr<SinkWorker>> &sinks,
               std::vector<PipelineRun *> children, Ledger &ledger);
  // Gives the batch to every receiver; the sinks queue it when the transaction is committed.
  void forward(const BatchRef &batch, const atalaya_window &window, const std::shared_ptr<Acknowledgement> &ack,
               Transaction &transaction) const;
  // Whether the queue of a sink, here or in a child, is full and its policy is to block. Call it with the ledger's mutex locked.
  bool any_sink_full() const;

 private:
  std::vector<std::pair<std::shared_ptr<SinkWorker>, LedgerRow *>> sinks_;  // a sink and its row for this pipeline
  std::vector<PipelineRun *> children_;
};

}  // namespace atalaya::core
