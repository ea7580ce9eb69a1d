// SPDX-License-Identifier: Apache-2.0
// Builds messages of netlink as the kernel sends them.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace atalaya::testing {

using Buffer = std::vector<std::byte>;

inline Buffer bytes_of(const void *data, size_t size) {
  const auto *first = static_cast<const std::byte *>(data);
  return {first, first + size};
}

inline void append(Buffer &buffer, const Buffer &more) {
  buffer.insert(buffer.end(), more.begin(), more.end());
}

inline Buffer attribute(uint16_t type, const Buffer &payload) {
  const nlattr header{static_cast<uint16_t>(sizeof(nlattr) + payload.size()), type};
  Buffer result = bytes_of(&header, sizeof(header));
  append(result, payload);
  result.resize(NLA_ALIGN(result.size()));
  return result;
}

inline Buffer netlink_message(uint16_t type, const Buffer &payload, uint32_t sequence = 0) {
  nlmsghdr header{};
  header.nlmsg_len = static_cast<uint32_t>(sizeof(header) + payload.size());
  header.nlmsg_type = type;
  header.nlmsg_seq = sequence;
  Buffer result = bytes_of(&header, sizeof(header));
  append(result, payload);
  result.resize(NLMSG_ALIGN(result.size()));
  return result;
}

}  // namespace atalaya::testing
