// SPDX-License-Identifier: Apache-2.0
// Writes experiments into a store.
#pragma once

#include <atalaya/plugin.hpp>

#include <memory>
#include <span>
#include <string>

#include "plugins/shared/analysis/experiments/experiments.h"
#include "plugins/shared/store/store.h"

namespace atalaya::query {

// Everything throws Wrong, or store::Error.
class ExperimentLog {
 public:
  // `store`: as --store takes it.
  ExperimentLog(Host host, const std::string &store);

  // Begins it; one of that name must not be open.
  void start(const Experiment &experiment);
  // Ends the open one of that name and workload, and with an experiment its open workloads. Returns it.
  Experiment end(const std::string &name, const std::string &workload, int64_t at_ns);
  // Deletes all of that name (workload "": its workloads too). Returns how many.
  size_t remove(const std::string &name, const std::string &workload);
  // As they are, all or none; each replaces the one that began then.
  void put(std::span<const Experiment> experiments, bool deleted = false);
  void put(const Experiment &experiment, bool deleted = false) { put(std::span(&experiment, 1), deleted); }

  store::Store &store() { return *store_; }

 private:
  Host host_;
  std::unique_ptr<store::StoreWriter> writer_;
  std::unique_ptr<store::Store> store_;
};

}  // namespace atalaya::query
