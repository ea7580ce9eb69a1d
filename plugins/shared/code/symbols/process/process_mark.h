// SPDX-License-Identifier: Apache-2.0
// The identity of a process, from /proc/PID/stat and /proc/PID/status.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace atalaya::symbols {

// Differs for two processes with the same pid, and for a process before and after exec.
struct ProcessMark {
  uint64_t start_ticks = 0;  // clock ticks since boot
  uint64_t image = 0;        // hash of the addresses of program and stack, which exec changes
  bool operator==(const ProcessMark &) const = default;
};
uint64_t image_mark(uint64_t start_code, uint64_t end_code, uint64_t start_stack);
std::optional<ProcessMark> parse_mark(std::string_view stat);
std::optional<ProcessMark> read_mark(int32_t pid);
// The start of the process in CLOCK_REALTIME. The result changes if the clock is set.
int64_t start_time_ns(const ProcessMark &mark);

struct ProcessStatus {
  uint32_t user = 0, group = 0;  // effective ids
  int32_t inner_pid = 0;         // its pid in its own namespace
  uint64_t handled_signals = 0;  // set of the signals that it handles (SigCgt)
};
std::optional<ProcessStatus> parse_status(std::string_view text);
std::optional<ProcessStatus> read_status(int32_t pid);

}  // namespace atalaya::symbols
