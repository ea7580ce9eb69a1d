// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/nat/conntrack_messages.h"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace atalaya::nat {
namespace {

using network::attribute;
using network::Bytes;
using network::load;

constexpr uint16_t kConnection = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_NEW;

std::optional<uint16_t> port_of(Bytes attributes, uint16_t type) {
  const auto bytes = attribute(attributes, type);
  if (!bytes || bytes->size() < sizeof(uint16_t)) return std::nullopt;
  return ntohs(load<uint16_t>(*bytes, 0));
}

std::optional<Address> address_of(Bytes attributes, uint16_t four, uint16_t six) {
  Address address{};
  if (const auto bytes = attribute(attributes, four); bytes && bytes->size() == 4) {
    address[10] = address[11] = 0xff;
    std::memcpy(&address[12], bytes->data(), 4);
    return address;
  }
  const auto bytes = attribute(attributes, six);
  if (!bytes || bytes->size() != address.size()) return std::nullopt;
  std::memcpy(address.data(), bytes->data(), address.size());
  return address;
}

struct Side {
  uint8_t protocol;
  Tuple tuple;
};

std::optional<Side> side_of(Bytes attributes, uint16_t type) {
  const auto nested = attribute(attributes, type);
  if (!nested) return std::nullopt;
  const auto addresses = attribute(*nested, CTA_TUPLE_IP), protocol = attribute(*nested, CTA_TUPLE_PROTO);
  if (!addresses || !protocol) return std::nullopt;
  const auto source = address_of(*addresses, CTA_IP_V4_SRC, CTA_IP_V6_SRC),
             target = address_of(*addresses, CTA_IP_V4_DST, CTA_IP_V6_DST);
  const auto number = attribute(*protocol, CTA_PROTO_NUM);
  const auto source_port = port_of(*protocol, CTA_PROTO_SRC_PORT), target_port = port_of(*protocol, CTA_PROTO_DST_PORT);
  if (!source || !target || !number || number->empty() || !source_port || !target_port) return std::nullopt;
  return Side{load<uint8_t>(*number, 0), {*source, *target, *source_port, *target_port}};
}

}  // namespace

std::optional<Connection> connection_of(Bytes payload) {
  if (payload.size() < sizeof(nfgenmsg)) return std::nullopt;
  const Bytes attributes = payload.subspan(sizeof(nfgenmsg));
  const auto request = side_of(attributes, CTA_TUPLE_ORIG), answer = side_of(attributes, CTA_TUPLE_REPLY);
  if (!request || !answer || request->protocol != answer->protocol) return std::nullopt;
  if (request->protocol != IPPROTO_TCP && request->protocol != IPPROTO_UDP) return std::nullopt;
  return Connection{request->protocol, request->tuple, answer->tuple};
}

ListProgress parse_connections(Bytes datagram, const std::function<void(const Connection &)> &take) {
  network::NetlinkMessage message;
  while (next_message(datagram, message)) {
    // The last message contains the error number of the list; 0: none.
    if (message.type == NLMSG_DONE) return {true, -std::clamp(load<int32_t>(message.payload, 0), -4095, 0)};
    if (const auto error = result_of(message)) return {true, *error};
    if (message.type != kConnection) continue;
    if (const auto connection = connection_of(message.payload)) take(*connection);
  }
  if (!datagram.empty()) return {true, EBADMSG};
  return {};
}

}  // namespace atalaya::nat
