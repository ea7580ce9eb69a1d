// SPDX-License-Identifier: Apache-2.0
// The files of one process and its JVM that are needed for a name. All are read relative to the folder of the process, so that they
// belong to one process: after its end reads fail, even if its pid is in use again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/files.h"

namespace atalaya::names {

// /proc/PID/stat.
struct ProcessStat {
  std::string_view name;     // points into the text
  uint64_t start_ticks = 0;  // since boot
  // Addresses of program, arguments and environment, mixed: exec changes them. 0 when the kernel does not show them.
  uint64_t image = 0;
};
std::optional<ProcessStat> parse_stat(std::string_view text);

// /proc/PID/status.
struct ProcessOwner {
  uint32_t user = 0;           // effective
  std::string_view inner_pid;  // its pid in its innermost pid namespace; points into the text
};
std::optional<ProcessOwner> parse_owner(std::string_view text);

class ProcessFiles {
 public:
  static constexpr size_t kBuffer = 256 << 10;  // a longer command line is cut; a JVM's file has 32 KiB by default

  // `proc`: the folder of procfs. `buffer` holds the text until the next call, and is wiped in the destructor, because command
  // lines contain secrets.
  ProcessFiles(int proc, int32_t pid, std::span<char, kBuffer> buffer);
  ProcessFiles(const ProcessFiles &) = delete;
  ProcessFiles &operator=(const ProcessFiles &) = delete;
  ~ProcessFiles();

  // Each is empty when it cannot be read or the process has ended.
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
