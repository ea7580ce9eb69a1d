// SPDX-License-Identifier: Apache-2.0
// Answers of sock_diag, from bytes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "bpf/net.h"

namespace atalaya::net {

// One TCP socket as the kernel tells everybody. The record's owner is not known, nor is where it began.
struct DiagSocket {
  net_record record{};
  uint32_t inode = 0;  // of its file; 0: no process holds it
};

// How a datagram of answers ended: more will come, all have come, or an errno.
struct DiagEnd {
  bool done = false;
  int error = 0;
};

DiagEnd take_diag_messages(std::span<const std::byte> datagram, const std::function<void(const DiagSocket &)> &take);
// The payload of one answer.
std::optional<DiagSocket> diag_socket(std::span<const std::byte> payload);

}  // namespace atalaya::net
