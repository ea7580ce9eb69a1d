// SPDX-License-Identifier: Apache-2.0
// Tracked connections as the kernel lists them.
#pragma once

#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>

#include <cstdint>
#include <string>

#include "tests/unit/host/network/netlink_messages.h"

namespace atalaya::nat::test {

using testing::append;
using testing::attribute;
using testing::Buffer;

constexpr uint16_t kConnection = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_NEW;

struct Ends {
  std::string source;
  uint16_t source_port;
  std::string target;
  uint16_t target_port;
};

inline Buffer address(uint16_t four, uint16_t six, const std::string &text) {
  unsigned char bytes[16] = {};
  if (text.find(':') == std::string::npos) {
    ::inet_pton(AF_INET, text.c_str(), bytes);
    return attribute(four, testing::bytes_of(bytes, 4));
  }
  ::inet_pton(AF_INET6, text.c_str(), bytes);
  return attribute(six, testing::bytes_of(bytes, 16));
}

inline Buffer port(uint16_t type, uint16_t number) {
  const uint16_t swapped = htons(number);
  return attribute(type, testing::bytes_of(&swapped, sizeof(swapped)));
}

inline Buffer tuple(uint16_t type, uint8_t protocol, const Ends &ends) {
  Buffer addresses = address(CTA_IP_V4_SRC, CTA_IP_V6_SRC, ends.source);
  append(addresses, address(CTA_IP_V4_DST, CTA_IP_V6_DST, ends.target));
  Buffer ports = attribute(CTA_PROTO_NUM, testing::bytes_of(&protocol, 1));
  append(ports, port(CTA_PROTO_SRC_PORT, ends.source_port));
  append(ports, port(CTA_PROTO_DST_PORT, ends.target_port));
  Buffer both = attribute(CTA_TUPLE_IP | NLA_F_NESTED, addresses);
  append(both, attribute(CTA_TUPLE_PROTO | NLA_F_NESTED, ports));
  return attribute(type | NLA_F_NESTED, both);
}

inline Buffer connection(uint8_t protocol, const Ends &request, const Ends &answer) {
  const nfgenmsg family{AF_INET, NFNETLINK_V0, 0};
  Buffer payload = testing::bytes_of(&family, sizeof(family));
  append(payload, tuple(CTA_TUPLE_ORIG, protocol, request));
  append(payload, tuple(CTA_TUPLE_REPLY, protocol, answer));
  const uint32_t status = htonl(0x1a);
  append(payload, attribute(CTA_STATUS, testing::bytes_of(&status, sizeof(status))));
  return testing::netlink_message(kConnection, payload);
}

}  // namespace atalaya::nat::test
