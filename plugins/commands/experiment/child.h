// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace atalaya::experiment_command {

// A child program that uses this process's terminal. While it runs, SIGINT, SIGTERM and SIGHUP are for the child: it gets those
// of the terminal directly, the others are forwarded once. This process continues until the child has ended.
class Child {
 public:
  Child();
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;
  ~Child();

  // Throws Failure if it cannot be started.
  void start(const std::vector<std::string> &words);
  // Its exit status in the form of a shell: 128 + N after signal N.
  int wait();

 private:
  pid_t pid_ = 0;
  sigset_t taken_{}, before_{};
};

}  // namespace atalaya::experiment_command
