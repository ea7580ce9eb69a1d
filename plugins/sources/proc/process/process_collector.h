// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "plugins/sources/proc/exits/exit_collector.h"
#include "plugins/sources/proc/process/process_backend.h"
#include "plugins/sources/proc/process/process_extras.h"
#include "plugins/sources/proc/process/process_metrics.h"
#include "plugins/sources/proc/process/process_model.h"

namespace atalaya::proc {

struct ProcessOptions {
  std::string root = "/";
  std::string backend = "auto";  // auto, bpf, procfs
  bool kernel_threads = true;
  bool active_only = false;
  std::vector<std::string> tags;  // names of the selected extra tags
  procfs::CommandLines commands;  // selects the processes that may have the extra tag `command`
  size_t expensive_budget = 32;   // maximum processes with expensive reads per window
  bool exited = true, unattributed = true;
  size_t exited_groups = 100;            // maximum groups of ended processes per window
  int64_t idle_interval_ns = 0;          // windows of an idle process are merged for this time; 0: a sample per window
  uint64_t idle_below_kib = UINT64_MAX;  // a process with more resident memory is not merged
};

// Emits the samples of processes.
class ProcessCollector {
 public:
  // If `backend` is null, start() opens one.
  ProcessCollector(Host host, ProcessOptions options, std::unique_ptr<ProcessBackend> backend = nullptr);
  void start();
  void stop();
  void collect(const Window &window, Batch &batch);
  // Emits the pending merged samples of idle processes, up to the last window.
  void emit_idle_samples(Batch &batch);

 private:
  enum Tag : size_t { kUser, kParent, kCgroup, kUnit, kContainer, kCommand, kExtraTags };
  static constexpr std::array<std::string_view, kExtraTags> kTagNames = {"user", "parent",    "cgroup",
                                                                         "unit", "container", "command"};

  bool is_selected(const Process &process) const;
  bool reports_end(const Process &process) const { return process.ended_now && options_.exited; }
  bool has_tag(Tag tag) const { return extra_ids_[tag] != 0; }
  std::unique_ptr<ProcessBackend> open_backend();
  void read_boot_time();
  void read_selected();
  bool may_idle(const Process &process) const;
  bool mark_idle(Process &process, const Window &window, Batch &batch);
  void emit_idle_sample(Process process, Batch &batch);
  void emit(const Process &process, const Window &window, Batch &batch);
  Sample &add_sample(const Process &process, const procfs::Name &name, Batch &batch);
  void emit_last(const ExitCollector::Single &ended, Batch &batch);
  void add_start(const Process &process, Sample &sample, Batch &batch);
  std::string_view parent_of(const Process &process) const;
  void add_extras(const Process &process, Sample &sample, Batch &batch);
  void add_rates(const Process &process, Sample &sample, Batch &batch);
  void add_gauges(const Process &process, Sample &sample, Batch &batch);

  Host host_;
  ProcessOptions options_;
  uint32_t pid_id_, process_id_, start_id_;
  std::array<uint32_t, kExtraTags> extra_ids_{};  // 0: not selected
  size_t extra_count_ = 0;
  std::array<uint32_t, procfs::kCounters> rate_ids_{};
  std::array<uint32_t, procfs::kGauges> gauge_ids_{};

  bool counts_files_ = false;  // the backend reports the number of open files
  core::Descriptor folder_;    // the folder proc below the root
  ProcessModel model_;
  ExitCollector exits_;
  Users users_;
  ProcessTextCache texts_;
  ExpensiveReadSelector turns_;
  std::vector<std::pair<int32_t, uint64_t>> open_files_;  // pids and open files of the processes selected in this window
  std::optional<int64_t> boot_time_ns_;
  std::unique_ptr<ProcessBackend> backend_;  // declared last, because its thread uses model_ and exits_
};

}  // namespace atalaya::proc
