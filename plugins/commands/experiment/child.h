// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace atalaya::experiment_command {

// Runs a child program on the terminal of this process. While it runs, SIGINT, SIGTERM and SIGHUP do not end this process: signals
// of the terminal reach the child directly, others are forwarded once.
class Child {
 public:
  Child();
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;
  ~Child();

  // Starts the program words[0] with the other words as arguments. Throws Failure if that fails.
  void start(const std::vector<std::string> &words);
  // Waits until the child ends. Returns its exit status as a shell does: 128 + N after signal N.
  int wait();

 private:
  pid_t pid_ = 0;
  sigset_t forwarded_signals_{}, previous_mask_{};
};

}  // namespace atalaya::experiment_command
