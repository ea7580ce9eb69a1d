// SPDX-License-Identifier: Apache-2.0
// The processes that hold sockets, from /proc/PID/fd.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "bpf/net.h"

namespace atalaya::net {

// The number in "socket:[12345]".
std::optional<uint32_t> socket_inode(std::string_view link);

class SocketHolders {
 public:
  explicit SocketHolders(std::string proc = "/proc") : proc_(std::move(proc)) {}
  // Reads the open files of every process, where permitted: many system calls.
  void refresh();
  // Null when no holder is known.
  const net_owner *find(uint32_t inode) const;

 private:
  void add_process(int32_t pid);

  std::string proc_;
  std::unordered_map<uint32_t, net_owner> holders_;
};

}  // namespace atalaya::net
