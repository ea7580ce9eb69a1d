// SPDX-License-Identifier: Apache-2.0
// What the kernel and a JVM keep of one process, as far as a name needs it. Everything is read relative to the folder of the
// process, which stays the same process: when it has ended, reads fail, also when its number has another owner by then.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/files.h"

namespace atalaya::names {

// /proc/PID/stat.
struct ProcessStat {
  std::string_view name;     // lies in the text
  uint64_t start_ticks = 0;  // since boot
  // Where its program, arguments and environment lie: exec puts them elsewhere. 0 when the kernel does not show it.
  uint64_t image = 0;
};
std::optional<ProcessStat> parse_stat(std::string_view text);

// /proc/PID/status.
struct ProcessOwner {
  uint32_t user = 0;           // effective
  std::string_view inner_pid;  // its number in the innermost namespace of processes, by which it knows itself; in the text
};
std::optional<ProcessOwner> parse_owner(std::string_view text);

class ProcessFiles {
 public:
  static constexpr size_t kBuffer = 256 << 10;  // a longer command line is cut; a JVM's file has 32 KiB unless it is told otherwise

  // `proc`: the folder of procfs. `buffer`: what was read lies there until the next call, and is wiped in the end, as command lines
  // carry secrets.
  ProcessFiles(int proc, int32_t pid, std::span<char, kBuffer> buffer);
  ProcessFiles(const ProcessFiles &) = delete;
  ProcessFiles &operator=(const ProcessFiles &) = delete;
  ~ProcessFiles();

  // Each is empty when it cannot be read or the process has ended.
  std::string_view read(const char *file);
  std::string_view executable();  // path of the program that runs
  // What a JVM says it was started with, from the file that it shares.
  std::string_view java_command();

 private:
  std::string_view read_from(int file);
  bool has_mapped(std::string_view line_end);

  core::Descriptor folder_;
  std::span<char, kBuffer> buffer_;
  size_t touched_ = 0;
};

}  // namespace atalaya::names
