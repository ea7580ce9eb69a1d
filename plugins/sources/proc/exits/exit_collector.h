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
#include "plugins/shared/host/cgroup/cgroup_paths.h"
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
  // Receives ends from now on, also between passes.
  void start(ProcessBackend &backend, ProcessModel &model);
  // Around each pass: hold the backend's lock from `close` before it to `open` after the samples of this window. `take` is between
  // the reading of the processes and the end of the model's pass; the window begins at its last call.
  void close() { unseen_from_ns_ = UINT64_MAX; }
  void take(ProcessBackend &backend, ProcessModel &model, const Pass &pass);
  // `uptime` as of the end of the pass.
  void open(std::optional<uint64_t> uptime);
  size_t max_samples() const { return options_.max_groups + 3 + singles_.size(); }
  // The end of a process with a series of its own: one that earlier passes saw, but not the last one, or an interpreter that no pass
  // saw, whose program has a name of its own.
  struct Single {
    Process process;
    procfs::Name name;  // when it ended
    Counters used;
    uint64_t cgroup = 0;  // of one that no pass saw
  };
  std::span<const Single> singles() const { return singles_; }
  // The cgroup of one that no pass saw, as a tag.
  void add_cgroup(const Single &ended, Sample &sample, Batch &batch);
  // The parent of a process when it ended; empty: it did not end in the window, or its parent is unknown.
  std::string_view parent_of(const procfs::ProcessReading &process) const;
  // The usage and the number of ended processes.
  void add_fields(const Counters &used, uint64_t exits, Sample &sample, Batch &batch);
  void add_count(uint64_t exits, Sample &sample, Batch &batch);
  // Emits the samples of the last call of take, without those of singles.
  void emit(Batch &batch);

 private:
  void add(const ExitReading &exit, ProcessModel &model);
  void add_last(const ExitReading &exit, ProcessModel &model);
  bool is_single(const ExitReading &exit, const Counters &used) const;
  void add_unseen(const ExitReading &exit, const Counters &used, const ProcessModel &model);
  void add_group(const ExitReading &exit, const Counters &used);
  void add_used(const Counters &used);
  void drop();
  bool read_busy(procfs::HostBusy &busy);
  void emit_group(const ExitGroup &group, Batch &batch);
  void emit_remainder(const Remainder &remainder, Batch &batch);
  Sample &add_sample(std::string_view process, Batch &batch);
  void add_rate(Sample &sample, procfs::Counter counter, uint64_t amount, Batch &batch);

  Host host_;
  ExitOptions options_;
  uint32_t process_id_, parent_id_, cgroup_id_, exits_id_, lost_id_;
  std::array<uint32_t, procfs::kCounters> rate_ids_{};

  core::Descriptor folder_;  // proc below the root
  procfs::KeptFile stat_{"stat"};
  cgroup::CgroupPaths cgroups_;
  ExitModel exits_;
  Unattributed unattributed_;
  // Processes born from here on were not seen: they are summed at once. A window may have millions of them.
  uint64_t unseen_from_ns_ = UINT64_MAX;
  std::vector<ExitReading> older_;  // the others, until the next pass shows whether they were seen: as many as that pass had
  std::vector<Single> singles_;
  struct Unseen {
    ExitReading exit;
    Counters used;
  };
  std::vector<Unseen> interpreters_;  // born and ended since the last pass
  struct Parent {
    int32_t pid;
    uint64_t start_ns;
    procfs::Name name;
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
