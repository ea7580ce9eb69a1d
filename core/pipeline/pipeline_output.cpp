// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/pipeline_output.h"

#include <algorithm>

#include "core/pipeline/pipeline_run.h"

namespace atalaya::core {

void PipelineOutput::connect(const std::string &pipeline, const std::vector<std::shared_ptr<SinkWorker>> &sinks,
                             std::vector<PipelineRun *> children, Ledger &ledger) {
  sinks_.clear();
  for (const auto &sink : sinks) sinks_.emplace_back(sink, &ledger.row(RowType::sink, pipeline, sink->name()));
  children_ = std::move(children);
}

void PipelineOutput::forward(const BatchRef &batch, const atalaya_window &window, const std::shared_ptr<Acknowledgement> &ack,
                             Transaction &transaction) const {
  if (batch->count() > 0)
    for (const auto &[sink, row] : sinks_) transaction.deliver(*sink, {batch, row, ack});
  for (PipelineRun *child : children_) child->receive(batch, window, ack, transaction);
}

bool PipelineOutput::any_sink_full() const {
  return std::any_of(sinks_.begin(), sinks_.end(), [](const auto &sink) { return sink.first->full(); }) ||
         std::any_of(children_.begin(), children_.end(), [](const PipelineRun *child) { return child->output().any_sink_full(); });
}

}  // namespace atalaya::core
