// SPDX-License-Identifier: Apache-2.0
// Parses the kernel's list of tracked connections (ctnetlink). Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "plugins/shared/host/network/netlink.h"

namespace atalaya::nat {

using Address = std::array<uint8_t, 16>;  // one of IPv4 is mapped

struct Tuple {
  Address source{}, target{};
  uint16_t source_port = 0, target_port = 0;
};

// A connection of TCP or UDP: as its first packet was addressed by the client, and as the answers are by the server.
struct Connection {
  uint8_t protocol = 0;
  Tuple request, answer;
};

// The end of a datagram: more datagrams follow, the list is complete, or an errno.
struct ListEnd {
  bool done = false;
  int error = 0;
};

ListEnd take_connections(network::Bytes datagram, const std::function<void(const Connection &)> &take);
// The payload of one message. Empty for other protocols and malformed messages.
std::optional<Connection> connection_of(network::Bytes payload);

}  // namespace atalaya::nat
