// SPDX-License-Identifier: Apache-2.0
// Requests JVMs to write the names of their compiled code to their perf map (Compiler.perfmap, JDK 17 and later): each JVM at an
// interval, all together within a time budget per window. The interval of JVMs that do not answer grows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "plugins/shared/code/jvm/attach.h"

namespace atalaya::jvm {

class PerfMapRefresh {
 public:
  struct Options {
    int64_t every_ns = 60'000'000'000;
    int64_t timeout_ns = 2'000'000'000;  // timeout for one JVM
    int64_t budget_ns = 4'000'000'000;   // maximum time for all JVMs in a window
  };
  using Report = std::function<void(std::string_view)>;

  PerfMapRefresh(Options options, Report report) : options_(options), report_(std::move(report)) {}

  void next_window();
  // Sends the request if it is due.
  void refresh(int32_t pid, const symbols::ProcessMark &mark, const std::optional<symbols::ProcessStatus> &status);
  // The number of failures since the last call.
  uint64_t take_failures() { return std::exchange(failures_, 0); }

 private:
  struct Known {
    Attachment attachment;
    std::unique_ptr<UserFile> map;  // if this object created it; it is removed after the end of the JVM
    bool has_ended = false;
    int64_t next_ns = 0, pause_ns = 0;
    std::string last_error;
  };
  Known *known_of(int32_t pid, const symbols::ProcessMark &mark);
  void forget_ended();
  // Whether this process can become the JVM's user. If it cannot, reports it once for all JVMs.
  bool can_become_user(const symbols::ProcessStatus &status);
  core::Result<std::string> request(const Target &target, Known &known) const;
  void report_error(Known &known, const std::string &error);

  Options options_;
  Report report_;
  int64_t spent_ns_ = 0;
  uint64_t failures_ = 0;
  bool refused_ = false;
  std::map<std::pair<int32_t, uint64_t>, Known> known_;  // by pid and start
};

}  // namespace atalaya::jvm
