// SPDX-License-Identifier: Apache-2.0
// Parses records of /dev/kmsg and the messages that report events. Pure functions on untrusted
// input; views point into the input. A record is "PRIORITY,SEQUENCE,TIME_US,FLAGS;TEXT". Source:
// Documentation/ABI/testing/dev-kmsg of Linux.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace atalaya::kernel {

struct LogRecord {
  uint64_t sequence = 0;
  int64_t time_ns = 0;       // clock of the kernel log, close to CLOCK_MONOTONIC
  bool from_kernel = false;  // false: a program wrote the message
  std::string_view text;     // the first line; the kernel escapes all characters except printable ASCII
};
std::optional<LogRecord> parse_record(std::string_view bytes);

// A process that the OOM killer ended.
struct Kill {
  int64_t pid = 0;
  std::string_view process;
  uint64_t resident_kib = 0;
  bool operator==(const Kill &) const = default;
};
// The cgroup of an OOM victim. The kernel omits this message if kills are frequent.
struct KillCgroup {
  int64_t pid = 0;
  std::string_view cgroup;
  bool operator==(const KillCgroup &) const = default;
};
// A thread that received a fatal signal for an invalid operation.
struct Crash {
  int64_t thread = 0;
  std::string_view process;  // name of the thread
  std::string_view kind;     // "segfault", "general protection fault", "divide error"
  std::string_view file;     // file with the code; empty: unknown
  bool operator==(const Crash &) const = default;
};
// A file system that became read-only because of an error.
struct FileSystemError {
  std::string_view device;  // "sda1"
  bool operator==(const FileSystemError &) const = default;
};
using Message = std::variant<std::monostate, Kill, KillCgroup, Crash, FileSystemError>;
Message parse_message(std::string_view text);

}  // namespace atalaya::kernel
