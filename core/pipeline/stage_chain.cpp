// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/stage_chain.h"

#include <algorithm>
#include <utility>

#include "core/pipeline/component_names.h"

namespace atalaya::core {

Status StageChain::create(const PipelineDescription &pipeline, size_t position, PipelineServices &services) {
  pool_ = services.pool;
  for (const StageDescription &description : pipeline.stages) {
    StageRun stage(pipeline.name, description, pipeline.functions);
    if (Status made = stage.create(component_label(pipeline.name, description), ledger_name(++position, description),
                                   component_state_dir(pipeline, description), services);
        !made)
      return made;
    stages_.push_back(std::move(stage));
  }
  return Done{};
}

Status StageChain::start(const std::string &pipeline) {
  for (StageRun &stage : stages_)
    if (const Outcome outcome = stage.start(); !outcome.ok())
      return at_location(stage.description().where, pipeline, stage.description(), outcome.text);
  return Done{};
}

void StageChain::stop() {
  for (StageRun &stage : stages_) stage.stop();
}

void StageChain::set_descriptions(const std::vector<StageDescription> &stages) {
  for (size_t i = 0; i < stages_.size(); ++i) stages_[i].set_description(stages[i]);
}

BatchRef StageChain::process(BatchOwner batch, const atalaya_window &window, const std::shared_ptr<Acknowledgement> &ack,
                             Transaction &transaction) {
  const bool is_last = (window.flags & ATALAYA_WINDOW_LAST) != 0;
  const uint64_t input_count = batch->count();
  for (StageRun &stage : stages_) {
    if (is_last && batch->count() == 0 && !retains_samples(stage.description())) continue;
    stage.process(window, *batch, ack, transaction);
  }
  return freeze_compact(*pool_, std::move(batch), input_count);
}

// The copy is not returned to the pool: later windows would enlarge it, and each queued window would then occupy a large batch.
BatchRef freeze_compact(BatchPool &pool, BatchOwner batch, uint64_t input_count) {
  static constexpr size_t kSlack = 16384;  // bytes
  if (batch->held_bytes() <= 4 * batch->used_bytes() + kSlack && batch->count() >= input_count / 4)
    return pool.freeze(std::move(batch));
  const size_t expected = batch->used_bytes() * batch->count() / std::max<uint64_t>({input_count, batch->count(), 1});
  auto compact = std::make_shared<Batch>(expected + 1024);
  compact->append(batch->raw());
  pool.return_batch(std::move(batch));
  return compact;
}

}  // namespace atalaya::core
