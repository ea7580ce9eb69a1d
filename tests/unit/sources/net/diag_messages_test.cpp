// SPDX-License-Identifier: Apache-2.0
// Answers of sock_diag: such as this kernel returns, and broken ones.
#include "plugins/sources/net/diag/diag_messages.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace atalaya::net {
namespace {

using Datagram = std::vector<std::byte>;

template <class T>
void put(Datagram &to, const T &value) {
  const auto *bytes = reinterpret_cast<const std::byte *>(&value);
  to.insert(to.end(), bytes, bytes + sizeof(value));
  to.resize((to.size() + 3) & ~size_t{3});
}

Datagram answer(uint8_t state, uint64_t received, uint64_t acknowledged, size_t info_size = sizeof(tcp_info)) {
  inet_diag_msg message{};
  message.idiag_family = AF_INET;
  message.idiag_state = state;
  message.idiag_inode = 77;
  message.id.idiag_sport = htons(80);
  message.id.idiag_dport = htons(40000);
  message.id.idiag_src[0] = htonl(0x0a000001);
  message.id.idiag_dst[0] = htonl(0x0a000002);
  message.id.idiag_cookie[0] = 5;
  message.id.idiag_cookie[1] = 1;
  tcp_info info{};
  info.tcpi_bytes_received = received;
  info.tcpi_bytes_acked = acknowledged;
  info.tcpi_rtt = 1234;
  rtattr attribute{};
  attribute.rta_type = INET_DIAG_INFO;
  attribute.rta_len = static_cast<uint16_t>(sizeof(attribute) + info_size);
  Datagram payload;
  put(payload, message);
  put(payload, attribute);
  put(payload, info);
  payload.resize(sizeof(message) + sizeof(attribute) + info_size);
  return payload;
}

TEST_CASE("a connection's addresses, number and counters; FINs are no payload") {
  const auto socket = diag_socket(answer(1, 1000, 2000));
  REQUIRE(socket.has_value());
  CHECK(socket->record.kind == NET_OPEN);
  CHECK(socket->record.cookie == (uint64_t{1} << 32 | 5));
  CHECK(socket->record.ends.local_port == 80);
  CHECK(socket->record.ends.remote_port == 40000);
  CHECK(socket->record.ends.local[12] == 10);
  CHECK(socket->record.ends.remote[15] == 2);
  CHECK(socket->record.amounts.in_bytes == 1000);
  CHECK(socket->record.amounts.out_bytes == 2000);
  CHECK(socket->record.amounts.rtt_us == 1234);
  CHECK(socket->inode == 77);
  CHECK(diag_socket(answer(8, 1000, 2000))->record.amounts.in_bytes == 999);    // CLOSE_WAIT
  CHECK(diag_socket(answer(5, 1000, 2000))->record.amounts.out_bytes == 1999);  // FIN_WAIT2
  CHECK(diag_socket(answer(8, 0, 0))->record.amounts.in_bytes == 0);
  CHECK(diag_socket(answer(10, 0, 0))->record.kind == NET_LISTENS);
}

TEST_CASE("an older kernel reports fewer fields, a broken response none") {
  const auto old = diag_socket(answer(1, 1000, 2000, 104));
  REQUIRE(old.has_value());
  CHECK(old->record.amounts.in_bytes == 0);
  Datagram cut = answer(1, 1000, 2000);
  cut.resize(cut.size() - 1);
  CHECK_FALSE(diag_socket(cut).has_value());
  CHECK_FALSE(diag_socket(Datagram(10)).has_value());
}

TEST_CASE("answers end with DONE, an error or not yet") {
  const Datagram payload = answer(1, 1, 1);
  nlmsghdr header{};
  header.nlmsg_len = static_cast<uint32_t>(sizeof(header) + payload.size());
  Datagram datagram;
  put(datagram, header);
  datagram.insert(datagram.end(), payload.begin(), payload.end());
  size_t count = 0;
  const auto take = [&](const DiagSocket &) { ++count; };
  CHECK_FALSE(parse_diag_messages(datagram, take).done);
  CHECK(count == 1);
  header.nlmsg_len = sizeof(header);
  header.nlmsg_type = NLMSG_DONE;
  put(datagram, header);
  const DiagProgress end = parse_diag_messages(datagram, take);
  CHECK(end.done);
  CHECK(end.error == 0);
  CHECK(count == 2);
  Datagram refused;
  header.nlmsg_type = NLMSG_ERROR;
  header.nlmsg_len = sizeof(header) + sizeof(nlmsgerr);
  put(refused, header);
  nlmsgerr error{};
  error.error = -EPERM;
  put(refused, error);
  CHECK(parse_diag_messages(refused, take).error == EPERM);
  refused.resize(20);
  CHECK(parse_diag_messages(refused, take).error == EBADMSG);
}

}  // namespace
}  // namespace atalaya::net
