// SPDX-License-Identifier: Apache-2.0
// The launcher: a process that starts the processes of isolated components and cleans up after them. It runs no plugin code and has
// one thread. It keeps the capabilities that the agent was started with, also when the agent itself gives them up; each child gets
// those that its component declares.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "core/base/files.h"
#include "core/base/result.h"

namespace atalaya::core {

// How a child came to its end.
struct Exit {
  bool known = false;
  int signal = 0;  // that killed it; 0: it ended itself
  int status = 0;  // with this status
};

// A child process. As long as the lifeline is held it may live; letting it go kills the child and all that it has started.
struct Born {
  pid_t pid = 0;
  Descriptor process;  // pidfd: readable when it is gone
  Descriptor lifeline;
};

struct ChildOrder {
  uint64_t capabilities = 0;
  int64_t memory_bytes = 0;                                     // limit of private writable memory (RLIMIT_DATA); 0: none
  int control = -1, batches = -1, requests = -1, notices = -1;  // descriptors that it gets
};

// Any thread.
class Launcher {
 public:
  Launcher() = default;
  Launcher(const Launcher &) = delete;
  Launcher &operator=(const Launcher &) = delete;
  ~Launcher();  // ends it and every child

  // Starts the process, unless it was. A call to spawn does, too, but to keep capabilities it must be there before they are
  // dropped.
  Status start();
  void end();
  pid_t pid() const { return pid_; }         // 0: it does not run
  uint64_t given() const { return given_; }  // the capabilities that it was started with
  Result<Born> spawn(const ChildOrder &order);

 private:
  Status start_locked();
  Result<Born> ask(const ChildOrder &order) const;

  std::mutex mutex_;
  Descriptor socket_;
  std::atomic<pid_t> pid_ = 0;
  std::atomic<uint64_t> given_ = 0;
};

// How a child ended, after its process descriptor has become readable. Waits briefly for the launcher's report.
Exit exit_of(const Born &born);

// The processes behind the hidden words of the command line: launcher, child. Gives their exit status; -1 when the words are
// not for them. To be called before anything else in main.
int isolation_main(int argc, char **argv);
int launcher_main();
int child_main();

}  // namespace atalaya::core
