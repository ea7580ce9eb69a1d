// SPDX-License-Identifier: Apache-2.0
// The code of one process: its mappings, and the perf map of its runtime. The process is identified by pid, start time and image,
// so that neither exec nor a reused pid leads to wrong names.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>

#include "plugins/shared/code/symbols/elf_files.h"
#include "plugins/shared/code/symbols/perf_map.h"
#include "plugins/shared/code/symbols/process/process_maps.h"

namespace atalaya::symbols {

enum class CodeKind : uint8_t { native, runtime };
struct Place {
  std::string_view name;             // name of the function; empty: unknown
  const Mapping *mapping = nullptr;  // null: not mapped
  CodeKind kind = CodeKind::native;
};

class ProcessMemory {
 public:
  explicit ProcessMemory(int32_t pid) : maps_(pid) {}

  // Reads the mappings and a changed perf map; false if the process no longer has this mark.
  bool refresh(const ProcessMark &mark);

  // Uses the mappings of an earlier object as the previous mappings.
  void follow(const ProcessMemory &earlier) { maps_.follow(earlier.maps_); }

  // Valid until the next call of refresh, or of find with these files.
  Place find(uint64_t address, ElfFiles &files) const;

  const ProcessMaps &maps() const { return maps_; }
  bool has_perf_map() const { return perf_map_.size() > 0; }
  const std::optional<ProcessStatus> &status() const { return status_; }
  size_t bytes() const { return maps_.bytes() + perf_map_.bytes(); }

 private:
  void refresh_perf_map(const ProcessMark &mark);
  void read_perf_map(int file, int64_t size);

  ProcessMaps maps_;
  std::optional<ProcessStatus> status_;
  PerfMap perf_map_;
  int64_t perf_map_size_ = -1;
  timespec perf_map_changed_{};
};

}  // namespace atalaya::symbols
