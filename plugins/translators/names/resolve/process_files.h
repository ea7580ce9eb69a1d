// SPDX-License-Identifier: Apache-2.0
// Reads the files of one process and its JVM that are needed for its name. All paths are relative to the open folder /proc/PID, so
// all texts belong to the same process: after its end reads fail, even if another process has the pid.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/files.h"

namespace atalaya::names {

// Parsed values of /proc/PID/stat.
struct ProcessStat {
  std::string_view name;     // points into the text
  int32_t parent = 0;        // its pid
  uint64_t start_ticks = 0;  // start time in ticks since boot
  // Hash of the addresses of program, arguments and environment: it changes with exec. 0 when the kernel hides them.
  uint64_t image = 0;
};
std::optional<ProcessStat> parse_stat(std::string_view text);

// Parsed values of /proc/PID/status.
struct ProcessOwner {
  uint32_t user = 0;           // effective user id
  std::string_view inner_pid;  // pid in the innermost pid namespace; points into the text
};
std::optional<ProcessOwner> parse_owner(std::string_view text);

class ProcessFiles {
 public:
  // Bytes of the buffer. A longer command line is cut; the hsperfdata file of a JVM has 32 KiB by default.
  static constexpr size_t kBuffer = 256 << 10;
  // `proc`: descriptor of the folder of procfs. `buffer` contains the last returned text; the destructor overwrites it, because
  // command lines contain secrets.
  ProcessFiles(int proc, int32_t pid, std::span<char, kBuffer> buffer);
  ProcessFiles(const ProcessFiles &) = delete;
  ProcessFiles &operator=(const ProcessFiles &) = delete;
  ~ProcessFiles();

  // Results are empty when the file cannot be read or the process has ended, and valid until the next call.
  std::string_view read(const char *file);
  std::string_view executable();         // path of the running program
  std::string_view working_directory();  // its path
  // The command of a JVM, from its hsperfdata file.
  std::string_view java_command();

 private:
  std::string_view read_from(int file);
  std::string_view read_link(const char *name);
  bool has_mapped(std::string_view line_end);

  core::Descriptor folder_;
  std::span<char, kBuffer> buffer_;
  size_t touched_ = 0;
};

}  // namespace atalaya::names
