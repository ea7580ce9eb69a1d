// SPDX-License-Identifier: Apache-2.0
// Asks JVMs to write the names of their compiled code to their perf map (Compiler.perfmap, JDK 17 and later): each now and then,
// all of them together no longer than a window's budget, those that do not answer ever more seldom.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "plugins/shared/jvm/attach.h"

namespace atalaya::jvm {

class PerfMapRefresh {
 public:
  struct Options {
    int64_t every_ns = 60'000'000'000;
    int64_t timeout_ns = 2'000'000'000;  // for one JVM
    int64_t budget_ns = 4'000'000'000;   // for all of a window
  };
  using Tell = std::function<void(std::string_view)>;

  PerfMapRefresh(Options options, Tell tell) : options_(options), tell_(std::move(tell)) {}

  void next_window();
  // Asks the JVM if it is its turn.
  void refresh(int32_t pid, const symbols::ProcessMark &mark, const std::optional<symbols::ProcessStatus> &status);
  // Since the last call.
  uint64_t take_failures() { return std::exchange(failures_, 0); }

 private:
  struct Known {
    Attachment attachment;
    int64_t next_ns = 0, pause_ns = 0;
    std::string told;  // what was wrong last
  };
  Known *known_of(int32_t pid, const symbols::ProcessMark &mark);
  void forget_ended();
  // False: it is told, once of all of them.
  bool may_ask(const symbols::ProcessStatus &status);
  core::Result<std::string> ask(const Target &target, Known &known) const;
  void tell_of(Known &known, const std::string &error);

  Options options_;
  Tell tell_;
  int64_t spent_ns_ = 0;
  uint64_t failures_ = 0;
  bool refused_ = false;
  std::map<std::pair<int32_t, uint64_t>, Known> known_;  // by number and start
};

}  // namespace atalaya::jvm
