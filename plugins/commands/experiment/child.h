// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace atalaya::experiment_command {

// A program that runs in the place of this one on the terminal.
// While it lives, SIGINT, SIGTERM and SIGHUP are for the program: those of the terminal it has already, the others are passed on,
// each once. This process goes on until the program has ended.
class Child {
 public:
  Child();
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;
  ~Child();

  // Throws Failure when it cannot be run.
  void start(const std::vector<std::string> &words);
  // Its exit status as a shell shows it: 128 + N after signal N.
  int wait();

 private:
  pid_t pid_ = 0;
  sigset_t taken_{}, before_{};
};

}  // namespace atalaya::experiment_command
