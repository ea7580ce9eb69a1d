// SPDX-License-Identifier: Apache-2.0
// The launcher: a single-threaded process without plugin code that starts, monitors and reaps the processes of isolated
// components. It retains the capabilities that the agent was started with, also after the agent has dropped them; each child
// receives those that its component declares.
//
//   agent  -- socket: requests to start a child -->  launcher  -- fork, execve -->  child
//   agent  <- lifeline, a socket per child: pidfd, then exit status --  launcher
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "core/base/files.h"
#include "core/base/result.h"

namespace atalaya::core {

// How a child process ended.
struct Exit {
  bool known = false;
  int signal = 0;  // the signal that killed it; 0: it exited
  int status = 0;  // its exit status
};

// A started child process. Closing the lifeline kills it and its descendants.
struct StartedChild {
  pid_t pid = 0;
  Descriptor pidfd;  // readable when the process has ended
  Descriptor lifeline;
};

struct ChildOrder {
  uint64_t capabilities = 0;
  int64_t memory_bytes = 0;                                     // limit of private writable memory (RLIMIT_DATA); 0: none
  int control = -1, batches = -1, requests = -1, notices = -1;  // descriptors that it inherits
};

// The agent's connection to the launcher. Any thread.
class Launcher {
 public:
  Launcher() = default;
  Launcher(const Launcher &) = delete;
  Launcher &operator=(const Launcher &) = delete;
  ~Launcher();  // ends the launcher and all children

  // Starts the launcher process if it does not run. `spawn` also starts it; call `start` before the agent drops capabilities that
  // the launcher needs.
  Status start();
  void end();
  pid_t pid() const { return pid_; }                       // 0: it does not run
  uint64_t capabilities() const { return capabilities_; }  // the capabilities that it was started with
  Result<StartedChild> spawn(const ChildOrder &order);

 private:
  Status start_locked();
  Result<StartedChild> request(const ChildOrder &order) const;

  std::mutex mutex_;
  Descriptor socket_;
  std::atomic<pid_t> pid_ = 0;
  std::atomic<uint64_t> capabilities_ = 0;
};

// How a child ended. Call it after its pidfd has become readable; waits briefly for the launcher's report.
Exit exit_of(const StartedChild &child);

// Runs the launcher or a child if the first argument is one of their hidden commands, and returns its exit status; -1 for all
// other command lines. Call it first in main.
int isolation_main(int argc, char **argv);
int launcher_main();
int child_main();

}  // namespace atalaya::core
