// SPDX-License-Identifier: Apache-2.0
// One process's code: its mappings, and the names that its runtime gives to the code that it makes. It is known by number, start
// and image, so that neither exec nor a reused number can give an address the name of something else.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/symbols/elf_files.h"
#include "plugins/symbols/memory_map.h"
#include "plugins/symbols/perf_map.h"

namespace atalaya::symbols {

// What /proc/PID/stat says of who the process is.
struct ProcessMark {
  uint64_t start_ticks = 0;
  uint64_t image = 0;  // where its program and its stack lie; exec puts them elsewhere
  bool operator==(const ProcessMark &) const = default;
};
uint64_t image_mark(uint64_t start_code, uint64_t end_code, uint64_t start_stack);
std::optional<ProcessMark> parse_mark(std::string_view stat);
std::optional<ProcessMark> read_mark(int32_t pid);

// From /proc/PID/status.
struct ProcessStatus {
  uint32_t user = 0;      // effective
  int32_t inner_pid = 0;  // in its own namespace
  uint64_t caught = 0;    // signals that it handles
};
std::optional<ProcessStatus> parse_status(std::string_view text);
std::optional<ProcessStatus> read_status(int32_t pid);

enum class Origin : uint8_t { native, runtime };
struct Place {
  std::string_view name;             // of the function; empty: unknown
  const Mapping *mapping = nullptr;  // null: the address is of nothing
  Origin origin = Origin::native;
};

class ProcessMemory {
 public:
  explicit ProcessMemory(int32_t pid) : pid_(pid) {}

  // Reads the mappings and whether the runtime has named more code, if the process is still the one with this mark; false: it is
  // not. What was read last stays, for addresses of before.
  bool refresh(const ProcessMark &mark);

  // Valid until the next call of refresh or ElfFiles::trim.
  Place find(uint64_t address, ElfFiles &files) const;
  const Mapping *mapping_at(uint64_t address) const;

  int32_t pid() const { return pid_; }
  const std::vector<Mapping> &mappings() const { return mappings_; }
  bool has_perf_map() const { return perf_map_.size() > 0; }
  const std::optional<ProcessStatus> &status() const { return status_; }
  size_t bytes() const;

 private:
  void refresh_perf_map();

  int32_t pid_;
  std::vector<Mapping> mappings_, before_;
  std::optional<ProcessStatus> status_;
  PerfMap perf_map_;
  int64_t perf_map_size_ = -1;
  timespec perf_map_changed_{};
};

}  // namespace atalaya::symbols
