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
  std::vector<std::string> tags;  // extra ones
  procfs::CommandLines commands;  // the extra tag of allowed processes
  size_t expensive_budget = 32;   // processes per window
  bool exited = true, unattributed = true;
  size_t exited_groups = 100;            // per window
  int64_t idle_interval_ns = 0;          // 0: a process that rests has a sample in each window
  uint64_t idle_below_kib = UINT64_MAX;  // of resident memory: a larger process has a sample in each window, too
};

// The samples of processes.
class ProcessCollector {
 public:
  // Without a backend, start() opens one.
  ProcessCollector(Host host, ProcessOptions options, std::unique_ptr<ProcessBackend> backend = nullptr);
  void start();
  void stop();
  void collect(const Window &window, Batch &batch);
  // The merged samples of processes that rest, up to the last window.
  void emit_idle_samples(Batch &batch);

 private:
  enum Tag : size_t { kUser, kParent, kCgroup, kUnit, kContainer, kCommand, kExtraTags };
  static constexpr std::array<std::string_view, kExtraTags> kTagNames = {"user", "parent",    "cgroup",
                                                                         "unit", "container", "command"};

  bool shows(const Process &process) const;
  bool ends(const Process &process) const { return process.ends && options_.exited; }
  bool wants(Tag tag) const { return extra_ids_[tag] != 0; }
  std::unique_ptr<ProcessBackend> open_backend();
  void read_boot_time();
  void take_turns();
  bool may_idle(const Process &process) const;
  bool mark_idle(Process &process, const Window &window, Batch &batch);
  void emit_idle_sample(Process process, Batch &batch);
  void emit(const Process &process, Batch &batch);
  Sample &add_sample(const Process &process, const procfs::Name &name, Batch &batch);
  void emit_last(const ExitCollector::Single &ended, Batch &batch);
  void add_start(const Process &process, Sample &sample, Batch &batch);
  std::string_view parent_of(const Process &process) const;
  void add_extras(const Process &process, Sample &sample, Batch &batch);
  void add_fields(const Process &process, Sample &sample, Batch &batch);

  Host host_;
  ProcessOptions options_;
  uint32_t pid_id_, process_id_, start_id_;
  std::array<uint32_t, kExtraTags> extra_ids_{};  // 0: not selected
  size_t extra_count_ = 0;
  std::array<uint32_t, procfs::kCounters> rate_ids_{};
  std::array<uint32_t, procfs::kGauges> gauge_ids_{};

  bool counts_files_ = false;  // the backend reports them
  core::Descriptor folder_;    // proc below the root
  ProcessModel model_;
  ExitCollector exits_;
  Users users_;
  ProcessTextCache texts_;
  Turns turns_;
  std::vector<std::pair<int32_t, uint64_t>> open_files_;  // of this window's turns, by pid
  std::optional<int64_t> boot_time_ns_;
  std::unique_ptr<ProcessBackend> backend_;  // last: its thread uses the model and the exits
};

}  // namespace atalaya::proc
