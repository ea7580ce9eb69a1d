// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>
#include <vector>

namespace atalaya::experiment_command {

// A program that runs in the place of this one on the terminal.
class Child {
 public:
  // Throws Failure when it cannot be run.
  void start(const std::vector<std::string> &words);
  // Its exit status as a shell shows it: 128 + N after signal N.
  int wait();
  // Any thread: passes an interruption on.
  void interrupt() noexcept;

 private:
  std::atomic<pid_t> pid_{0};
};

}  // namespace atalaya::experiment_command
