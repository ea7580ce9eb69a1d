// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/server/listen.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atalaya/plugin.hpp>
#include <cerrno>
#include <memory>

#include "core/base/text/text.h"

namespace atalaya::http_server {
namespace {

std::string open_error(const Address &address, int error) {
  std::string where = "listen: " + address.host + ":" + address.port + ": " + core::error_text(error);
  if (error == EADDRINUSE) return where + "; another program uses this address: stop it or choose another port";
  if (error == EADDRNOTAVAIL) return where + "; this host has no such address";
  if (error == EACCES) return where + "; ports below 1024 need CAP_NET_BIND_SERVICE: choose a higher port";
  return where;
}

bool is_loopback(const sockaddr &address) {
  if (address.sa_family == AF_INET) return ntohl(reinterpret_cast<const sockaddr_in &>(address).sin_addr.s_addr) >> 24 == 127;
  return address.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6 &>(address).sin6_addr);
}

std::string name_of(const sockaddr &address, socklen_t size) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getnameinfo(&address, size, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0) return "?";
  return (address.sa_family == AF_INET6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + port;
}

bool has_version_6() {
  return static_cast<bool>(core::Descriptor(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)));
}

// An IPv6 socket accepts both versions, on hosts with IPv6.
const addrinfo *every_address(const addrinfo *list) {
  const int wanted = has_version_6() ? AF_INET6 : AF_INET;
  for (const addrinfo *entry = list; entry != nullptr; entry = entry->ai_next)
    if (entry->ai_family == wanted) return entry;
  return list;
}

}  // namespace

Address parse_address(std::string_view text) {
  const size_t colon = text.rfind(':');
  const auto wrong = [&] {
    return Failure(Code::bad_config,
                   "listen: \"" + std::string(text) + "\" is not ADDRESS:PORT, such as 127.0.0.1:4242 or [::1]:4242");
  };
  if (colon == std::string_view::npos || colon == 0) throw wrong();
  Address address{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.find(':') != std::string::npos) {
    throw wrong();
  }
  if (!core::number_from<uint16_t>(address.port) || address.host.empty()) throw wrong();
  return address;
}

namespace {

Listener open_socket(const Address &address, int type) {
  addrinfo hints{};
  hints.ai_socktype = type;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo *found = nullptr;
  const int asked = ::getaddrinfo(address.host == "*" ? nullptr : address.host.c_str(), address.port.c_str(), &hints, &found);
  if (asked != 0 || found == nullptr) throw Failure(Code::bad_config, "listen: " + address.host + ": " + ::gai_strerror(asked));
  const std::unique_ptr<addrinfo, void (*)(addrinfo *)> list(found, ::freeaddrinfo);
  const addrinfo *chosen = address.host == "*" ? every_address(found) : found;
  Listener listener;
  listener.socket = core::Descriptor(::socket(chosen->ai_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.socket) throw Failure(Code::bad_config, open_error(address, errno));
  const int on = 1;
  const int off = 0;
  if (type == SOCK_STREAM) ::setsockopt(listener.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (chosen->ai_family == AF_INET6 && address.host == "*")
    ::setsockopt(listener.socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (::bind(listener.socket.get(), chosen->ai_addr, chosen->ai_addrlen) != 0 ||
      (type == SOCK_STREAM && ::listen(listener.socket.get(), SOMAXCONN) != 0))
    throw Failure(Code::bad_config, open_error(address, errno));
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  ::getsockname(listener.socket.get(), reinterpret_cast<sockaddr *>(&bound), &size);
  listener.name = name_of(reinterpret_cast<const sockaddr &>(bound), size);
  listener.reachable = !is_loopback(reinterpret_cast<const sockaddr &>(bound));
  return listener;
}

}  // namespace

Listener open_listener(const Address &address) {
  return open_socket(address, SOCK_STREAM);
}

Listener open_datagrams(const Address &address) {
  return open_socket(address, SOCK_DGRAM);
}

void check_reach(const Listener &listener, bool asks_for_token, bool open) {
  if (listener.reachable && !asks_for_token && !open)
    throw Failure(Code::bad_config,
                  "listen: " + listener.name + " can be reached from other hosts; set tokens to a file, or open = true");
}

}  // namespace atalaya::http_server
