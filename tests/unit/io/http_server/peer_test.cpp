// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/server/peer.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace atalaya::http_server {
namespace {

// A listening socket on a free port of this address.
int listen_on(const char *address, sockaddr_in6 &name, bool ipv4_too) {
  const int listener = ::socket(AF_INET6, SOCK_STREAM, 0);
  const int only = ipv4_too ? 0 : 1;
  REQUIRE(::setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only) == 0);
  name.sin6_family = AF_INET6;
  REQUIRE(::inet_pton(AF_INET6, address, &name.sin6_addr) == 1);
  socklen_t size = sizeof name;
  REQUIRE(::bind(listener, reinterpret_cast<const sockaddr *>(&name), size) == 0);
  REQUIRE(::listen(listener, 1) == 0);
  REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr *>(&name), &size) == 0);
  return listener;
}

template <class Address>
int connected(const Address &to) {
  const int client = ::socket(reinterpret_cast<const sockaddr &>(to).sa_family, SOCK_STREAM, 0);
  REQUIRE(::connect(client, reinterpret_cast<const sockaddr *>(&to), sizeof to) == 0);
  return client;
}

TEST_CASE("http server: the user of a client on this host, by IPv6 and by IPv4 to a socket of IPv6") {
  sockaddr_in6 name{};
  const int listener = listen_on("::", name, true);
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = name.sin6_port;
  ipv4.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  name.sin6_addr = IN6ADDR_LOOPBACK_INIT;
  for (const bool by_ipv4 : {false, true}) {
    const int client = by_ipv4 ? connected(ipv4) : connected(name);
    const int accepted = ::accept(listener, nullptr, nullptr);
    CHECK(address_of_peer(accepted) == (by_ipv4 ? "::ffff:127.0.0.1" : "::1"));
    CHECK(user_of_peer(accepted) == ::geteuid());
    ::close(client);
    ::close(accepted);
  }
  CHECK_FALSE(user_of_peer(listener));  // it has no peer
  CHECK(address_of_peer(listener).empty());
  ::close(listener);
}

TEST_CASE("http server: the user of a client is that of its socket, not of the server") {
  if (::geteuid() != 0) return;  // only root can be another user
  sockaddr_in6 name{};
  const int listener = listen_on("::1", name, false);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(1);
    const int client = connected(name);
    char byte = 0;
    ::_exit(::read(client, &byte, 1) == 0 ? 0 : 1);  // until the test has looked
  }
  const int accepted = ::accept(listener, nullptr, nullptr);
  CHECK(user_of_peer(accepted) == uid_t{65534});
  ::close(accepted);
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  ::close(listener);
}

}  // namespace
}  // namespace atalaya::http_server
