// SPDX-License-Identifier: Apache-2.0
// Messages and attributes of netlink. Pure functions on untrusted bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace atalaya::network {

using Bytes = std::span<const std::byte>;

struct NetlinkMessage {
  uint16_t type = 0;
  uint32_t sequence = 0;
  Bytes payload;
};

// Bytes beyond the end are 0.
template <class Value>
Value load(Bytes bytes, size_t offset) {
  Value value{};
  if (offset + sizeof(value) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// Takes the first message from the front of a datagram. False at its end, and, with `datagram` not empty, where it is malformed.
bool next_message(Bytes &datagram, NetlinkMessage &message);
// The content of an NLMSG_ERROR: an errno, or 0 for "done". Empty for other messages.
std::optional<int> result_of(const NetlinkMessage &message);
// The payload of the first attribute of this type.
std::optional<Bytes> attribute(Bytes attributes, uint16_t type);

}  // namespace atalaya::network
