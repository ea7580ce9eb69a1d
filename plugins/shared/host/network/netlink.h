// SPDX-License-Identifier: Apache-2.0
// Parses messages and attributes of netlink(7). Pure; the bytes are untrusted input.
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

// Reads a value at an offset; a zero value if the bytes end before.
template <class Value>
Value load(Bytes bytes, size_t offset) {
  Value value{};
  if (offset + sizeof(value) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// Removes the first message from a datagram. False at the end of the datagram, or if it is malformed; `datagram` is then not
// empty.
bool next_message(Bytes &datagram, NetlinkMessage &message);
// The result in a message NLMSG_ERROR: an errno, or 0 for success. Nothing for other messages.
std::optional<int> result_of(const NetlinkMessage &message);
// The payload of the first attribute of this type.
std::optional<Bytes> attribute(Bytes attributes, uint16_t type);

}  // namespace atalaya::network
