// SPDX-License-Identifier: Apache-2.0
// Who a process is: what /proc/PID/stat and /proc/PID/status say of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace atalaya::symbols {

// A number is used again, and exec makes another program of a process.
struct ProcessMark {
  uint64_t start_ticks = 0;  // since boot
  uint64_t image = 0;        // where its program and its stack lie; exec puts them elsewhere
  bool operator==(const ProcessMark &) const = default;
};
uint64_t image_mark(uint64_t start_code, uint64_t end_code, uint64_t start_stack);
std::optional<ProcessMark> parse_mark(std::string_view stat);
std::optional<ProcessMark> read_mark(int32_t pid);
// CLOCK_REALTIME; a clock that was set since moves it.
int64_t start_time_ns(const ProcessMark &mark);

struct ProcessStatus {
  uint32_t user = 0, group = 0;  // effective
  int32_t inner_pid = 0;         // in its own namespace
  uint64_t caught = 0;           // signals that it handles
};
std::optional<ProcessStatus> parse_status(std::string_view text);
std::optional<ProcessStatus> read_status(int32_t pid);

}  // namespace atalaya::symbols
