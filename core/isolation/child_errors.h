// SPDX-License-Identifier: Apache-2.0
// Standard error of an isolated process, passed on within a limit: a plugin cannot fill the journal. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/files.h"

namespace atalaya::core {

constexpr int64_t kErrorsBurst = 64 << 10;     // bytes
constexpr int64_t kErrorsPerSecond = 1 << 10;  // bytes, over a longer time
constexpr size_t kMaxErrorLine = 4 << 10;      // bytes; longer lines are divided

// Which lines pass. Independent of files and clocks.
class LineLimit {
 public:
  // The lines of these bytes that pass, each with its line break, and a line that reports dropped ones. An unfinished line waits.
  // `now_ns`: monotonic.
  std::string passed(std::string_view bytes, std::string_view name, int64_t now_ns);
  // The unfinished line and the report at the end.
  std::string rest(std::string_view name, int64_t now_ns);

 private:
  void add_line(std::string_view name, std::string &out);

  int64_t credit_ = kErrorsBurst, last_ns_ = 0;
  uint64_t dropped_ = 0;   // lines, not reported yet
  bool reported_ = false;  // that lines are dropped
  std::string line_;
};

class ChildErrors {
 public:
  // The read end of its pipe; not blocking.
  ChildErrors(Descriptor pipe, pid_t child) : pipe_(std::move(pipe)), child_(child) {}
  int fd() const { return pipe_.get(); }
  // Passes on a part of the bytes that are there. At the end of the pipe, fd() becomes -1.
  void forward(int64_t now_ns);
  // Passes on the rest, before the process is reaped.
  void end(int64_t now_ns);

 private:
  bool forward_part(int64_t now_ns);
  std::string name() const;

  Descriptor pipe_;
  pid_t child_;
  LineLimit limit_;
};

}  // namespace atalaya::core
