// SPDX-License-Identifier: Apache-2.0
// Parses netlink messages of the kernel's list of tracked connections (ctnetlink,
// linux/netfilter/nfnetlink_conntrack.h). Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "plugins/shared/host/network/netlink.h"

namespace atalaya::nat {

using Address = std::array<uint8_t, 16>;  // IPv4 addresses are mapped into IPv6

struct Tuple {
  Address source{}, target{};
  uint16_t source_port = 0, target_port = 0;
};

// A tracked TCP or UDP connection: addresses of the client's first packet before translation, and addresses of the server's
// replies.
struct Connection {
  uint8_t protocol = 0;
  Tuple request, answer;
};

// Parse result of one datagram of a list: by default more datagrams follow.
struct ListProgress {
  bool done = false;  // the list is complete, or failed
  int error = 0;      // error number of the list; 0: none
};

ListProgress parse_connections(network::Bytes datagram, const std::function<void(const Connection &)> &take);
// Parses the payload of one message. Empty for other protocols and malformed messages.
std::optional<Connection> connection_of(network::Bytes payload);

}  // namespace atalaya::nat
