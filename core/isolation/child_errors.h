// SPDX-License-Identifier: Apache-2.0
// Forwards the standard error of an isolated process to that of the agent, up to a rate limit: a plugin cannot fill the journal.
// One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/files.h"

namespace atalaya::core {

constexpr int64_t kErrorsBurst = 64 << 10;     // bytes
constexpr int64_t kErrorsPerSecond = 1 << 10;  // bytes, on average
constexpr size_t kMaxErrorLine = 4 << 10;      // bytes; longer lines are split

// Limits the rate of lines by a token bucket. Independent of files and clocks.
class LineLimit {
 public:
  // Adds bytes and returns the complete lines within the limit, plus a line that reports dropped lines. An incomplete line waits
  // for its end. `name` is the process in the report, `now_ns` CLOCK_MONOTONIC.
  std::string accept(std::string_view bytes, std::string_view name, int64_t now_ns);
  // Returns the incomplete line and the last report.
  std::string finish(std::string_view name, int64_t now_ns);

 private:
  void add_line(std::string_view name, std::string &out);

  int64_t credit_ = kErrorsBurst, last_ns_ = 0;
  uint64_t dropped_ = 0;   // lines, not reported yet
  bool reported_ = false;  // the first drop is reported
  std::string line_;
};

// The standard error pipe of one child.
class ChildErrors {
 public:
  // `pipe`: the read end, non-blocking.
  ChildErrors(Descriptor pipe, pid_t child) : pipe_(std::move(pipe)), child_(child) {}
  int fd() const { return pipe_.get(); }
  // Forwards a part of the available bytes. At the end of the pipe, fd() becomes -1.
  void forward(int64_t now_ns);
  // Forwards the remaining bytes; call it before the process is reaped.
  void end(int64_t now_ns);

 private:
  bool forward_part(int64_t now_ns);
  std::string name() const;

  Descriptor pipe_;
  pid_t child_;
  LineLimit limit_;
};

}  // namespace atalaya::core
