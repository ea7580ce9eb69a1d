// SPDX-License-Identifier: Apache-2.0
// Reports the processes that start a program (exec), and optionally new processes (fork), from the kernel's process events
// connector. It needs CAP_NET_ADMIN in the host's user, pid and network namespaces. Source: linux/cn_proc.h,
// drivers/connector/cn_proc.c.
//
//   | nlmsghdr 16 bytes | cn_msg 20 bytes | what u32 | cpu u32 | timestamp_ns u64 | ...
//   exec  ... thread s32 | process s32
//   fork  ... parent's thread s32 | parent s32 | thread s32 | process s32
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace atalaya::procfs {

struct StartEvent {
  int32_t process = 0;
  int32_t parent = 0;  // of a fork; 0: an exec

  bool operator==(const StartEvent &) const = default;
};

// Nothing for new threads, other events and malformed messages.
std::optional<StartEvent> start_event(std::span<const std::byte> message);

class StartEvents {
 public:
  StartEvents() = default;
  StartEvents(const StartEvents &) = delete;
  StartEvents &operator=(const StartEvents &) = delete;
  ~StartEvents() { stop(); }

  // Subscribes to events of exec, and of fork if `forks` is set. An error says why there are no events.
  core::Status start(bool forks);
  void stop();
  // Readable when there are events.
  int socket() const { return socket_.get(); }
  // Adds all waiting events. Events that the kernel dropped because the buffer was full are skipped.
  void read(std::vector<StartEvent> &events);

 private:
  core::Descriptor socket_;
};

}  // namespace atalaya::procfs
