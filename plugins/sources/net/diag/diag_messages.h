// SPDX-License-Identifier: Apache-2.0
// Parses responses of sock_diag. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "bpf/net.h"

namespace atalaya::net {

// One TCP socket of sock_diag. The owner and the opening side of the record are unknown.
struct DiagSocket {
  net_record record{};
  uint32_t inode = 0;  // of its file; 0: no process holds it
};

// The end of a datagram: more datagrams follow, the list is complete, or an errno.
struct DiagEnd {
  bool done = false;
  int error = 0;
};

DiagEnd take_diag_messages(std::span<const std::byte> datagram, const std::function<void(const DiagSocket &)> &take);
// The payload of one response.
std::optional<DiagSocket> diag_socket(std::span<const std::byte> payload);

}  // namespace atalaya::net
