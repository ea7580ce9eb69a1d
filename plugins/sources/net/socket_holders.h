// SPDX-License-Identifier: Apache-2.0
// Which process holds a socket, by the files of /proc.
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
  // Looks at the open files of every process, as far as it may: many system calls.
  void refresh();
  // Null when nobody is known to hold it.
  const net_owner *find(uint32_t inode) const;

 private:
  void add_process(int32_t pid);

  std::string proc_;
  std::unordered_map<uint32_t, net_owner> holders_;
};

}  // namespace atalaya::net
