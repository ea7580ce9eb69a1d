// SPDX-License-Identifier: Apache-2.0
// The current calls of components in this process, so that the report of a crash or a hang names the component.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace atalaya::core {

// A scope: the call is current while the object exists. The texts must outlive it.
class ActiveCall {
 public:
  ActiveCall(const char *label, const char *operation);
  ActiveCall(const ActiveCall &) = delete;
  ActiveCall &operator=(const ActiveCall &) = delete;
  ~ActiveCall();

 private:
  const char *label_before_, *operation_before_;  // texts of the enclosing call
};

// The text `pipeline "x": source "y": collect` of the longest current call that has lasted at least `min_ns`. Runs of push sources
// are left out, because they last as long as the agent.
std::optional<std::string> longest_call(int64_t min_ns);

// Installs signal handlers: a crash of this process writes one line with the component's name to the descriptor before the process
// ends. The line ends with `advice`, a string constant.
void report_crashes(int descriptor, const char *advice);

}  // namespace atalaya::core
