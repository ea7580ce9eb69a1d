// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/nat/conntrack_messages.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "plugins/shared/host/network/address_text.h"
#include "tests/unit/sources/nat/connections.h"

namespace atalaya::nat::test {
namespace {

std::string text_of(const Address &address, uint16_t port) {
  uint8_t bytes[16];
  std::copy(address.begin(), address.end(), bytes);
  return std::string(network::AddressText(bytes, port).text());
}

std::string text_of(const Tuple &tuple) {
  return text_of(tuple.source, tuple.source_port) + ">" + text_of(tuple.target, tuple.target_port);
}

std::vector<std::string> listed(const Buffer &datagram, ListProgress *end = nullptr) {
  std::vector<std::string> lines;
  const ListProgress found = parse_connections(datagram, [&](const Connection &one) {
    lines.push_back(std::to_string(one.protocol) + " " + text_of(one.request) + " " + text_of(one.answer));
  });
  if (end != nullptr) *end = found;
  return lines;
}

Buffer done(int32_t error) {
  return testing::netlink_message(NLMSG_DONE, testing::bytes_of(&error, sizeof(error)));
}

TEST_CASE("connections of both families with both of their sides") {
  Buffer datagram = connection(IPPROTO_TCP, {"10.0.0.5", 51000, "10.0.0.1", 8080}, {"172.17.0.2", 80, "10.0.0.5", 51000});
  append(datagram, connection(IPPROTO_UDP, {"fd00::5", 4000, "fd00::1", 53}, {"fd00::2", 5353, "fd00::1", 4001}));
  ListProgress end;
  CHECK(listed(datagram, &end) == std::vector<std::string>{"6 10.0.0.5:51000>10.0.0.1:8080 172.17.0.2:80>10.0.0.5:51000",
                                                           "17 [fd00::5]:4000>[fd00::1]:53 [fd00::2]:5353>[fd00::1]:4001"});
  CHECK_FALSE(end.done);
  CHECK(end.error == 0);
}

TEST_CASE("the end of the list, and its errors") {
  ListProgress end;
  CHECK(listed(done(0), &end).empty());
  CHECK(end.done);
  CHECK(end.error == 0);
  listed(done(-ENOMEM), &end);
  CHECK(end.error == ENOMEM);
  listed(done(INT32_MIN), &end);
  CHECK(end.done);
  nlmsgerr refused{};
  refused.error = -EPERM;
  listed(testing::netlink_message(NLMSG_ERROR, testing::bytes_of(&refused, sizeof(refused))), &end);
  CHECK(end.error == EPERM);
}

TEST_CASE("other protocols and messages are left out") {
  Buffer datagram = connection(IPPROTO_ICMP, {"10.0.0.5", 1, "10.0.0.1", 2}, {"10.0.0.1", 2, "10.0.0.5", 1});
  append(datagram, testing::netlink_message(kConnection + 1, Buffer(100)));
  append(datagram, testing::netlink_message(kConnection, {}));
  ListProgress end;
  CHECK(listed(datagram, &end).empty());
  CHECK_FALSE(end.done);
}

TEST_CASE("a message that is cut anywhere is malformed, or has no connection") {
  const Buffer whole = connection(IPPROTO_TCP, {"10.0.0.5", 51000, "10.0.0.1", 8080}, {"172.17.0.2", 80, "10.0.0.5", 51000});
  for (size_t size = 1; size < whole.size(); ++size) {
    CAPTURE(size);
    ListProgress end;
    CHECK(listed(Buffer(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)), &end).empty());
    CHECK(end.error == EBADMSG);
    // With the length of the message corrected, an attribute is cut.
    Buffer cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    if (size < sizeof(nlmsghdr)) continue;
    const auto length = static_cast<uint32_t>(size);
    std::memcpy(cut.data(), &length, sizeof(length));
    const size_t found = listed(cut).size();
    CHECK(found == (size + 8 >= whole.size() ? 1 : 0));  // the last attribute is the status, which is not read
  }
}

}  // namespace
}  // namespace atalaya::nat::test
