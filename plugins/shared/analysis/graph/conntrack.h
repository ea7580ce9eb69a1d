// SPDX-License-Identifier: Apache-2.0
// What network address translation makes of connections, from the kernel's table of them (/proc/net/nf_conntrack, `conntrack -L`).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace atalaya::graph {

// Of connections to one service; ports that clients choose are left out, so that one connection in the table speaks for all of its
// kind.
struct Service {
  std::string protocol, client, server, port;
  bool operator<(const Service &other) const {
    return std::tie(protocol, client, server, port) < std::tie(other.protocol, other.client, other.server, other.port);
  }
  bool operator==(const Service &other) const = default;
};

// From what the client's end sees to what the server's end sees. Of one that several servers stand behind there are several.
using Translations = std::multimap<Service, Service>;

// Adds those connections of the text whose addresses or ports were changed on their way; other lines say nothing. How many lines
// are connections.
size_t add_translations(std::string_view text, Translations &translations);

}  // namespace atalaya::graph
