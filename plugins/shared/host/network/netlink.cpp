// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/network/netlink.h"

#include <linux/netlink.h>

#include <cerrno>

namespace atalaya::network {
namespace {

constexpr size_t aligned(size_t size) {
  return (size + 3) & ~size_t{3};
}

Bytes after(Bytes bytes, size_t size) {
  return bytes.subspan(std::min(size, bytes.size()));
}

}  // namespace

bool next_message(Bytes &datagram, NetlinkMessage &message) {
  if (datagram.size() < sizeof(nlmsghdr)) return false;
  const auto header = load<nlmsghdr>(datagram, 0);
  if (header.nlmsg_len < sizeof(nlmsghdr) || header.nlmsg_len > datagram.size()) return false;
  message = {header.nlmsg_type, header.nlmsg_seq, datagram.first(header.nlmsg_len).subspan(sizeof(nlmsghdr))};
  datagram = after(datagram, aligned(header.nlmsg_len));
  return true;
}

std::optional<int> result_of(const NetlinkMessage &message) {
  if (message.type != NLMSG_ERROR || message.payload.size() < sizeof(nlmsgerr)) return std::nullopt;
  const int error = load<nlmsgerr>(message.payload, 0).error;
  return error > 0 || error < -4095 ? EPROTO : -error;
}

std::optional<Bytes> attribute(Bytes attributes, uint16_t type) {
  while (attributes.size() >= sizeof(nlattr)) {
    const auto header = load<nlattr>(attributes, 0);
    if (header.nla_len < sizeof(nlattr) || header.nla_len > attributes.size()) return std::nullopt;
    if ((header.nla_type & NLA_TYPE_MASK) == type) return attributes.first(header.nla_len).subspan(sizeof(nlattr));
    attributes = after(attributes, aligned(header.nla_len));
  }
  return std::nullopt;
}

}  // namespace atalaya::network
