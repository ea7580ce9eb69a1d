// SPDX-License-Identifier: Apache-2.0
// The messages between the agent and its launcher.
#pragma once

#include <cstddef>
#include <cstdint>

namespace atalaya::core {

constexpr const char *kLauncherCommand = "--isolation-launcher";
constexpr const char *kChildCommand = "--isolation-child";
constexpr int kLauncherFd = 3;  // descriptor of the launcher's socket

// Agent to launcher, with the descriptors control, batches, requests, notices and the launcher's end of the lifeline.
struct LaunchMessage {
  uint64_t capabilities;
  int64_t memory_bytes;
};
constexpr size_t kLaunchFds = 5;

// Launcher to agent, over the lifeline. The message kStarted carries the pidfd.
struct ChildMessage {
  enum MessageKind : int32_t { kStarted = 1, kFailed, kEnded, kKilled };
  int32_t what;
  int32_t value;  // pid, errno, status, signal
};

bool send_with_fds(int socket, const void *data, size_t size, const int *fds, size_t count);
// Returns the bytes received; 0 at the end, -1 on an error. `count`: the capacity of `fds`, then the number of received
// descriptors; further descriptors are closed.
long receive_with_fds(int socket, void *data, size_t size, int *fds, size_t &count);

}  // namespace atalaya::core
