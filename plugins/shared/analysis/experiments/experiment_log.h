// SPDX-License-Identifier: Apache-2.0
// Writes experiments into a store.
#pragma once

#include <atalaya/plugin.hpp>

#include <memory>
#include <span>
#include <string>

#include "plugins/shared/analysis/experiments/experiments.h"
#include "plugins/shared/store/store.h"

namespace atalaya::experiments {

// All methods throw Wrong or store::Error.
class ExperimentLog {
 public:
  // `store`: the value of --store.
  ExperimentLog(Host host, const std::string &store);

  // Starts the experiment; no experiment of the same name may be open.
  void start(const Experiment &experiment);
  // Ends the open experiment with this name and workload, and its open workloads. Returns the ended experiment.
  Experiment end(const std::string &name, const std::string &workload, int64_t at_ns);
  // Deletes all experiments of this name (workload "": their workloads too). Returns their count.
  size_t remove(const std::string &name, const std::string &workload);
  // Writes all experiments or none; an experiment replaces the stored one with the same start.
  void put(std::span<const Experiment> experiments, bool deleted = false);
  void put(const Experiment &experiment, bool deleted = false) { put(std::span(&experiment, 1), deleted); }

  store::Store &store() { return *store_; }

 private:
  Host host_;
  std::unique_ptr<store::StoreWriter> writer_;
  std::unique_ptr<store::Store> store_;
};

}  // namespace atalaya::experiments
