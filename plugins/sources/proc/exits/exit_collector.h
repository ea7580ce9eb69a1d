// SPDX-License-Identifier: Apache-2.0
// Samples of processes that ended in the window, and of CPU time that is charged to no process.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/cgroup/cgroup_paths.h"
#include "plugins/sources/proc/exits/exit_model.h"
#include "plugins/sources/proc/process/process_backend.h"
#include "plugins/sources/proc/process/process_metrics.h"
#include "plugins/sources/proc/process/unattributed.h"

namespace atalaya::proc {

struct ExitOptions {
  std::string root = "/";
  bool exited = true, unattributed = true;
  size_t max_groups = 100;
};

class ExitCollector {
 public:
  ExitCollector(Host host, ExitOptions options);
  void start();
  // Call between the reading of the processes and the end of the model's pass. The window begins at the last call.
  void take(ProcessBackend &backend, ProcessModel &model, const Pass &pass);
  size_t max_samples() const { return options_.max_groups + 3 + seen_.size(); }
  // A process that earlier passes saw, but not the last one: its last usage belongs to its own series.
  struct Seen {
    Process process;
    Name name;  // when it ended
    Counters used;
  };
  std::span<const Seen> seen() const { return seen_; }
  // The parent of a process when it ended; empty: it did not end in the window, or its parent is unknown.
  std::string_view parent_of(const ProcessReading &process) const;
  // The usage and the number of ended processes.
  void add_fields(const Counters &used, uint64_t exits, Sample &sample, Batch &batch);
  void add_count(uint64_t exits, Sample &sample, Batch &batch);
  // Emits the samples of the last call of take, without those of seen processes.
  void emit(Batch &batch);

 private:
  void take_exits(ProcessBackend &backend, ProcessModel &model);
  bool read_busy(HostBusy &busy);
  void emit_group(const ExitGroup &group, Batch &batch);
  void emit_remainder(const Remainder &remainder, Batch &batch);
  Sample &add_sample(std::string_view process, Batch &batch);
  void add_rate(Sample &sample, Counter counter, uint64_t amount, Batch &batch);

  Host host_;
  ExitOptions options_;
  uint32_t process_id_, parent_id_, cgroup_id_, exits_id_, lost_id_;
  std::array<uint32_t, kCounters> rate_ids_{};

  core::Descriptor folder_;  // proc below the root
  KeptFile stat_{"stat"};
  CgroupPaths cgroups_;
  ExitModel exits_;
  Unattributed unattributed_;
  std::vector<Seen> seen_;
  struct Parent {
    int32_t pid;
    uint64_t start_ns;
    Name name;
  };
  std::vector<Parent> parents_;  // of ended processes that have a series
  std::optional<Remainder> remainder_;
  CpuTime exited_;  // in this window
  uint64_t lost_before_ = 0;
  std::optional<uint64_t> lost_;              // in this window
  int64_t previous_ns_ = 0, elapsed_ns_ = 0;  // 0: no window yet
  bool stat_logged_ = false;
};

}  // namespace atalaya::proc
