// SPDX-License-Identifier: Apache-2.0
// Finds the process that has a socket open, from /proc/PID/fd.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "bpf/net.h"

namespace atalaya::net {

// Returns the inode in the link text "socket:[12345]".
std::optional<uint32_t> socket_inode(std::string_view link);

class SocketHolders {
 public:
  explicit SocketHolders(std::string proc = "/proc") : proc_(std::move(proc)) {}
  // Reads the open files of each process, where permitted. Expensive: a system call per open file.
  void refresh();
  // Returns the process; null if it is unknown.
  const net_owner *find(uint32_t inode) const;

 private:
  void add_process(int32_t pid);

  std::string proc_;
  std::unordered_map<uint32_t, net_owner> holders_;
};

}  // namespace atalaya::net
