// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/pipeline/stage_run.h"

namespace atalaya::core {

// The stages of a running pipeline, applied in their order.
class StageChain {
 public:
  // `position` is the position of the component before the first stage.
  Status create(const PipelineDescription &pipeline, size_t position, PipelineServices &services);
  Status start(const std::string &pipeline);
  void stop();
  void set_descriptions(const std::vector<StageDescription> &stages);
  bool empty() const { return stages_.empty(); }

  // Applies the stages to a batch and makes it read-only.
  BatchRef process(BatchOwner batch, const atalaya_window &window, const std::shared_ptr<Acknowledgement> &ack,
                   Transaction &transaction);

 private:
  std::shared_ptr<BatchPool> pool_;
  std::vector<StageRun> stages_;
};

// Makes a batch read-only. `input_count` is the number of samples before the stages. A batch that uses a small part of its memory
// is replaced by a compact copy, because sink queues are limited in bytes of samples and would keep the unused memory.
BatchRef freeze_compact(BatchPool &pool, BatchOwner batch, uint64_t input_count);

}  // namespace atalaya::core
