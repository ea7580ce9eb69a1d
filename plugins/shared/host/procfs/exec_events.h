// SPDX-License-Identifier: Apache-2.0
// Reports the processes that start a program (exec), from the kernel's process events connector. It needs CAP_NET_ADMIN in the
// host's user, pid and network namespaces. Source: linux/cn_proc.h, drivers/connector/cn_proc.c.
//
//   | nlmsghdr 16 bytes | cn_msg 20 bytes | what u32 | cpu u32 | timestamp_ns u64 | thread s32 | process s32 | ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace atalaya::procfs {

// The process of an exec event; nothing for other events and malformed messages.
std::optional<int32_t> exec_process(std::span<const std::byte> message);

class ExecEvents {
 public:
  ExecEvents() = default;
  ExecEvents(const ExecEvents &) = delete;
  ExecEvents &operator=(const ExecEvents &) = delete;
  ~ExecEvents() { stop(); }

  // Subscribes. An error says why there are no events.
  core::Status start();
  void stop();
  // Readable when there are events.
  int socket() const { return socket_.get(); }
  // Adds the processes of all waiting events. Events that the kernel dropped because the buffer was full are skipped.
  void read(std::vector<int32_t> &processes);

 private:
  core::Descriptor socket_;
};

}  // namespace atalaya::procfs
