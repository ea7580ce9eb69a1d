// SPDX-License-Identifier: Apache-2.0
// The calls of components that run in this process now, so that a crash or a hang names its component.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace atalaya::core {

// One call, as long as the object lives. The texts outlive it.
class ActiveCall {
 public:
  ActiveCall(const char *label, const char *operation);
  ActiveCall(const ActiveCall &) = delete;
  ActiveCall &operator=(const ActiveCall &) = delete;
  ~ActiveCall();

 private:
  const char *label_before_, *operation_before_;  // a call within a call
};

// "pipeline "x": source "y": collect" of the call that has lasted longest, at least this long. Runs of push sources do not count:
// they last as long as the agent.
std::optional<std::string> longest_call(int64_t min_ns);

// From now on a crash of this process writes one line to the descriptor that names the component, before the process ends. The
// advice is its end, a constant.
void report_crashes(int descriptor, const char *advice);

}  // namespace atalaya::core
