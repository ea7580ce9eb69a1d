// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/sources/proc/process_extras.h"
#include "plugins/sources/proc/process_metrics.h"
#include "plugins/sources/proc/process_model.h"
#include "plugins/sources/proc/process_reader.h"

namespace atalaya::proc {

struct ProcessOptions {
  std::string root = "/";
  bool kernel_threads = true;
  std::vector<std::string> tags;  // extra ones
  size_t expensive_budget = 32;   // processes a window
};

// The samples of processes, read from procfs.
class ProcessCollector {
 public:
  ProcessCollector(Host host, ProcessOptions options);
  void start();
  void collect(const Window &window, Batch &batch);

 private:
  enum Tag : size_t { kUser, kParent, kCgroup, kUnit, kContainer, kCommand, kExtraTags };
  static constexpr std::array<std::string_view, kExtraTags> kTagNames = {"user", "parent",    "cgroup",
                                                                         "unit", "container", "command"};

  bool wants(Tag tag) const { return extra_ids_[tag] != 0; }
  void take_turns();
  void emit(const Process &process, Batch &batch);
  void add_extras(const Process &process, Sample &sample, Batch &batch);
  void add_fields(const Process &process, Sample &sample, Batch &batch);
  void report_trouble();

  Host host_;
  ProcessOptions options_;
  uint32_t pid_id_, process_id_, start_id_, open_files_id_;
  std::array<uint32_t, kExtraTags> extra_ids_{};  // 0: not wanted
  std::array<uint32_t, kCounters> rate_ids_{};
  std::array<uint32_t, kGauges> gauge_ids_{};

  std::unique_ptr<ProcessReader> reader_;
  ProcessModel model_;
  Users users_;
  ProcessTextCache texts_;
  Turns turns_;
  std::vector<std::pair<int32_t, uint64_t>> open_files_;  // of this window's turns, by pid
  std::optional<int64_t> boot_time_ns_;
  bool told_denied_io_ = false, told_denied_ = false, told_malformed_ = false;
};

}  // namespace atalaya::proc
