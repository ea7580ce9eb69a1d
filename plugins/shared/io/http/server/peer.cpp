// SPDX-License-Identifier: Apache-2.0
// A line of /proc/net/tcp; addresses are 32-bit words in the byte order of the host, ports are numbers:
//
//     sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
//      0: 0100007F:1F90 0100007F:D2B4 01 00000000:00000000 00:00000000 00000000  1000        0 31337
#include "plugins/shared/io/http/server/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "core/base/text/text.h"

namespace atalaya::http_server {
namespace {

using GetName = int (*)(int, sockaddr *, socklen_t *);

std::optional<sockaddr_storage> name_of(int socket, GetName get) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (get(socket, reinterpret_cast<sockaddr *>(&name), &size) != 0) return std::nullopt;
  return name;
}

void append_word(std::string &text, uint32_t word) {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08X", word);
  text += digits;
}

// The address as /proc/net/tcp or tcp6 writes it.
std::string table_text(const sockaddr_storage &name) {
  std::string text;
  in_port_t port = 0;
  if (name.ss_family == AF_INET) {
    const auto &address = reinterpret_cast<const sockaddr_in &>(name);
    append_word(text, address.sin_addr.s_addr);
    port = address.sin_port;
  } else {
    const auto &address = reinterpret_cast<const sockaddr_in6 &>(name);
    uint32_t words[4];
    std::memcpy(words, &address.sin6_addr, sizeof words);
    for (const uint32_t word : words) append_word(text, word);
    port = address.sin6_port;
  }
  char digits[6];
  std::snprintf(digits, sizeof digits, ":%04X", ntohs(port));
  return text + digits;
}

std::optional<uid_t> user_in_table(const char *path, const std::string &local, const std::string &remote) {
  std::ifstream table(path);
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number, from, to, state, queues, timer, retransmits, user;
    if (!(words >> number >> from >> to >> state >> queues >> timer >> retransmits >> user)) continue;
    if (from != local || to != remote) continue;
    return core::number_from<uid_t>(user);
  }
  return std::nullopt;
}

}  // namespace

std::string address_of_peer(int socket) {
  const auto peer = name_of(socket, ::getpeername);
  char text[INET6_ADDRSTRLEN] = "";
  if (peer && peer->ss_family == AF_INET)
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in &>(*peer).sin_addr, text, sizeof text);
  if (peer && peer->ss_family == AF_INET6)
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6 &>(*peer).sin6_addr, text, sizeof text);
  return text;
}

std::optional<uid_t> user_of_peer(int socket) {
  const auto peer = name_of(socket, ::getpeername);
  const auto own = name_of(socket, ::getsockname);
  if (!peer || !own || (peer->ss_family != AF_INET && peer->ss_family != AF_INET6)) return std::nullopt;
  // The row of the socket at the other end: its local address is our peer.
  const char *const path = peer->ss_family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6";
  const auto user = user_in_table(path, table_text(*peer), table_text(*own));
  if (user || peer->ss_family == AF_INET) return user;
  // A client of IPv4 at a socket of IPv6: ::ffff:a.b.c.d here, a.b.c.d there.
  const auto last_word = [](const sockaddr_storage &name) { return table_text(name).substr(24); };
  if (!IN6_IS_ADDR_V4MAPPED(&reinterpret_cast<const sockaddr_in6 &>(*peer).sin6_addr)) return std::nullopt;
  return user_in_table("/proc/net/tcp", last_word(*peer), last_word(*own));
}

}  // namespace atalaya::http_server
