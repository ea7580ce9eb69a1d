// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "plugins/shared/host/procfs/tree.h"
#include "plugins/sources/inventory/fact_history.h"
#include "plugins/sources/inventory/inventory_metrics.h"
#include "plugins/sources/inventory/software.h"

namespace atalaya::inventory {

struct Options {
  std::string root = "/";
  std::vector<std::string> jdks;
  Configurations configurations;
  int64_t repeat_ns = 0;  // interval at which all facts are emitted again
};

class Collector {
 public:
  Collector(Host host, Options options);
  void start();
  void stop() {}
  void collect(const Window &window, Batch &batch);

 private:
  Facts read();
  void load();
  void save();
  void emit(Batch &batch, std::span<const Record> records) const;
  void emit_metrics(Batch &batch, std::optional<size_t> changes) const;
  void warn_once(const std::string &text);

  Host host_;
  Options options_;
  uint32_t fact_, value_, number_;
  io::MetricEmitter<kOwnMetrics> emitter_;

  procfs::Tree tree_;
  FactHistory history_;
  std::string file_;          // path of the saved history; empty: not saved
  bool is_first_run_ = true;  // no collection has run and no history was loaded
  std::optional<int64_t> all_emitted_ns_;
  std::set<std::string> warnings_;
};

}  // namespace atalaya::inventory
