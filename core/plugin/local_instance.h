// SPDX-License-Identifier: Apache-2.0
// A component in this process, with its table of host functions.
#pragma once

#include <mutex>

#include "core/plugin/instance.h"

namespace atalaya::core {

class LocalInstance final : public Instance {
 public:
  LocalInstance(Registry::Component component, Parameters parameters, std::string label, NameTable &names,
                Surroundings &surroundings);
  ~LocalInstance() override;

  Outcome create();  // call it once, before all others
  Outcome start() override;
  Outcome stop() override;
  Outcome collect(const atalaya_window &window, Batch &batch) override;
  Outcome run() override;
  void acked(uint64_t batch_id, int32_t status) override;
  void interrupt() override;
  Outcome process(const atalaya_window &window, Batch &batch) override;
  Outcome write(const atalaya_batch &batch, int64_t &retry_after_ns) override;
  Outcome flush(int64_t deadline_ns) override;
  Outcome command(const std::vector<std::string> &arguments, int32_t &status) override;

 private:
  friend struct HostFunctions;  // the C functions of the table, in host_functions.cpp

  NameTable &names_;
  Surroundings &surroundings_;
  atalaya_host host_;
  void *instance_ = nullptr;
  bool created_ = false, started_ = false;

  Batch *current_ = nullptr;             // the batch of the current collect or process call
  std::vector<BatchOwner> new_batches_;  // from new_batch, not yet emitted
  std::mutex state_dir_mutex_;
  std::string state_dir_;
};

}  // namespace atalaya::core
