// SPDX-License-Identifier: Apache-2.0
// Parses responses of sock_diag(7). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "bpf/net.h"

namespace atalaya::net {

// One TCP socket. The record lacks the owner and the direction, which sock_diag does not report.
struct DiagSocket {
  net_record record{};
  uint32_t inode = 0;  // inode of its file; 0: no process has it open
};

// Parse result of one datagram of a list: by default more datagrams follow.
struct DiagProgress {
  bool done = false;  // the list is complete, or failed
  int error = 0;      // error number of the list; 0: none
};

DiagProgress parse_diag_messages(std::span<const std::byte> datagram, const std::function<void(const DiagSocket &)> &take);
// Parses the payload of one response; empty if it is malformed.
std::optional<DiagSocket> diag_socket(std::span<const std::byte> payload);

}  // namespace atalaya::net
