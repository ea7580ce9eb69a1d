// SPDX-License-Identifier: Apache-2.0
// One process's code: its mappings, and the names that its runtime gives to the code that it makes. It is known by number, start
// and image, so that neither exec nor a reused number can give an address the name of something else.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>

#include "plugins/shared/symbols/elf_files.h"
#include "plugins/shared/symbols/perf_map.h"
#include "plugins/shared/symbols/process_maps.h"

namespace atalaya::symbols {

enum class Origin : uint8_t { native, runtime };
struct Place {
  std::string_view name;             // of the function; empty: unknown
  const Mapping *mapping = nullptr;  // null: the address is of nothing
  Origin origin = Origin::native;
};

class ProcessMemory {
 public:
  explicit ProcessMemory(int32_t pid) : maps_(pid) {}

  // Reads the mappings and whether the runtime has named more code, if the process is still the one with this mark; false: it is
  // not.
  bool refresh(const ProcessMark &mark);

  // That one was read before this.
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
