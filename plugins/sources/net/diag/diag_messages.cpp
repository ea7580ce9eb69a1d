// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/net/diag/diag_messages.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace atalaya::net {
namespace {

using Bytes = std::span<const std::byte>;

// include/net/tcp_states.h
enum State : uint8_t { kFinWait2 = 5, kCloseWait = 8, kLastAck = 9, kListen = 10, kClosing = 11 };

// Copies a structure whose length depends on the kernel version: missing members are 0.
template <class T>
T take_struct(Bytes bytes) {
  T value{};
  if (!bytes.empty()) std::memcpy(&value, bytes.data(), std::min(sizeof(value), bytes.size()));
  return value;
}

size_t aligned(size_t size) {
  return (size + 3) & ~size_t{3};
}

void set_address(uint8_t (&to)[16], uint8_t family, const __be32 (&from)[4]) {
  std::memset(to, 0, sizeof(to));
  if (family == AF_INET6) {
    std::memcpy(to, from, sizeof(to));
    return;
  }
  to[10] = to[11] = 0xff;
  std::memcpy(to + 12, from, 4);
}

// The kernel counts the FIN of either side as a byte. (It also counts the SYN of the connecting side, but sock_diag does not report
// which side that is.)
void set_amounts(net_amounts &amounts, uint8_t state, const tcp_info &info) {
  const bool fin_received = state == kCloseWait || state == kLastAck || state == kClosing;
  const bool fin_acknowledged = state == kFinWait2;
  amounts.in_bytes = info.tcpi_bytes_received - (fin_received && info.tcpi_bytes_received > 0 ? 1 : 0);
  amounts.out_bytes = info.tcpi_bytes_acked - (fin_acknowledged && info.tcpi_bytes_acked > 0 ? 1 : 0);
  amounts.in_packets = info.tcpi_segs_in;
  amounts.out_packets = info.tcpi_segs_out;
  amounts.retransmits = info.tcpi_total_retrans;
  amounts.rtt_us = info.tcpi_rtt;
}

}  // namespace

std::optional<DiagSocket> diag_socket(Bytes payload) {
  if (payload.size() < sizeof(inet_diag_msg)) return std::nullopt;
  const auto message = take_struct<inet_diag_msg>(payload);
  if (message.idiag_family != AF_INET && message.idiag_family != AF_INET6) return std::nullopt;
  DiagSocket socket;
  net_record &record = socket.record;
  record.kind = message.idiag_state == kListen ? NET_LISTENS : NET_OPEN;
  record.protocol = IPPROTO_TCP;
  record.cookie = uint64_t{message.id.idiag_cookie[1]} << 32 | message.id.idiag_cookie[0];
  set_address(record.ends.local, message.idiag_family, message.id.idiag_src);
  set_address(record.ends.remote, message.idiag_family, message.id.idiag_dst);
  record.ends.local_port = ntohs(message.id.idiag_sport);
  record.ends.remote_port = ntohs(message.id.idiag_dport);
  socket.inode = message.idiag_inode;

  Bytes rest = payload.subspan(sizeof(inet_diag_msg));
  while (rest.size() >= sizeof(rtattr)) {
    const auto attribute = take_struct<rtattr>(rest);
    if (attribute.rta_len < sizeof(rtattr) || attribute.rta_len > rest.size()) return std::nullopt;
    if (attribute.rta_type == INET_DIAG_INFO)
      set_amounts(record.amounts, message.idiag_state,
                  take_struct<tcp_info>(rest.subspan(sizeof(rtattr), attribute.rta_len - sizeof(rtattr))));
    rest = rest.subspan(std::min(aligned(attribute.rta_len), rest.size()));
  }
  return socket;
}

DiagProgress parse_diag_messages(Bytes datagram, const std::function<void(const DiagSocket &)> &take) {
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto header = take_struct<nlmsghdr>(datagram);
    if (header.nlmsg_len < sizeof(nlmsghdr) || header.nlmsg_len > datagram.size()) return {true, EBADMSG};
    const Bytes payload = datagram.subspan(sizeof(nlmsghdr), header.nlmsg_len - sizeof(nlmsghdr));
    if (header.nlmsg_type == NLMSG_DONE) return {true, 0};
    if (header.nlmsg_type == NLMSG_ERROR) return {true, -std::clamp(take_struct<nlmsgerr>(payload).error, -4095, 0)};
    if (const auto socket = diag_socket(payload)) take(*socket);
    datagram = datagram.subspan(std::min(aligned(header.nlmsg_len), datagram.size()));
  }
  return {};
}

}  // namespace atalaya::net
