// SPDX-License-Identifier: Apache-2.0
// Emits samples of the processes that ended in the window, and of CPU time that the kernel charges to no process.
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
  // Subscribes to process ends; they arrive also between passes over the processes.
  void start(ProcessBackend &backend, ProcessModel &model);
  // Each pass calls these three in order, with the backend's lock held from the first to the last: start_pass before the processes
  // are read; end_window after it and before ProcessModel::end; end_pass after the samples of the window are emitted.
  void start_pass() { new_since_ns_ = UINT64_MAX; }
  void end_window(ProcessBackend &backend, ProcessModel &model, const Pass &pass);
  // `uptime`: time since boot at the end of the reading.
  void end_pass(std::optional<uint64_t> uptime);
  size_t max_samples() const { return options_.max_groups + 3 + singles_.size(); }
  // An ended process that gets a sample of its own instead of a part in its group's: an earlier pass reported it, or it is an
  // interpreter, whose script names the series.
  struct Single {
    Process process;
    procfs::Name name;  // name at the end of the process
    Counters used;
    uint64_t cgroup = 0;  // set only if no pass has read the process
  };
  std::span<const Single> singles() const { return singles_; }
  // Adds the cgroup of a process that no pass read, as a tag.
  void add_cgroup(const Single &ended, Sample &sample, Batch &batch);
  // Name of the parent of a process that ended in the window; empty when it did not end or its parent is unknown.
  std::string_view parent_of(const procfs::ProcessReading &process) const;
  // Adds the usage and the number of ended processes to the sample.
  void add_fields(const Counters &used, uint64_t exits, Sample &sample, Batch &batch);
  void add_count(uint64_t exits, Sample &sample, Batch &batch);
  // Emits the samples of the last window, except those of singles().
  void emit(Batch &batch);

 private:
  void add(const ExitReading &exit, ProcessModel &model);
  void add_last(const ExitReading &exit, ProcessModel &model);
  bool is_single(const ExitReading &exit, const Counters &used) const;
  void add_unseen(const ExitReading &exit, const Counters &used, const ProcessModel &model);
  void add_group(const ExitReading &exit, const Counters &used);
  void add_used(const Counters &used);
  void reset();
  bool read_busy(procfs::HostBusy &busy);
  void emit_group(const ExitGroup &group, Batch &batch);
  void emit_remainder(const Remainder &remainder, Batch &batch);
  Sample &add_sample(std::string_view process, Batch &batch);
  void add_rate(Sample &sample, procfs::Counter counter, uint64_t amount, Batch &batch);

  Host host_;
  ExitOptions options_;
  uint32_t process_id_, parent_id_, parent_pid_id_, cgroup_id_, exits_id_, lost_id_;
  std::array<uint32_t, procfs::kCounters> rate_ids_{};

  core::Descriptor folder_;  // the folder proc below the root
  procfs::PersistentFile stat_{"stat"};
  cgroup::CgroupPaths cgroups_;
  ExitModel exits_;
  Unattributed unattributed_;
  // Processes that started at or after this time were in no pass: their ends are added to groups on arrival, because a window may
  // have millions.
  uint64_t new_since_ns_ = UINT64_MAX;
  std::vector<ExitReading> older_;  // ends of processes that passes may have read, until the next pass
  std::vector<Single> singles_;
  struct Unseen {
    ExitReading exit;
    Counters used;
  };
  size_t unseen_singles_ = 0;         // number of singles_ that no pass has read
  std::vector<Unseen> interpreters_;  // interpreters that started and ended since the last pass
  struct Parent {
    int32_t pid;
    uint64_t start_ns;
    procfs::Name name;
  };
  std::vector<Parent> parents_;  // parents of ended processes that have a separate series
  std::optional<Remainder> remainder_;
  CpuTime exited_;  // usage of processes that ended in this window
  uint64_t lost_before_ = 0;
  std::optional<uint64_t> lost_;              // lost ends in this window
  int64_t previous_ns_ = 0, elapsed_ns_ = 0;  // 0: no window yet
  bool stat_logged_ = false;
};

}  // namespace atalaya::proc
