// SPDX-License-Identifier: Apache-2.0
// Reads translations of addresses from the kernel's table of connections (/proc/net/nf_conntrack, `conntrack -L`).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace atalaya::graph {

// The connections of one client to one service. Client ports are ignored, so that one connection in the table represents all of
// them.
struct Service {
  std::string protocol, client, server, port;
  bool operator<(const Service &other) const {
    return std::tie(protocol, client, server, port) < std::tie(other.protocol, other.client, other.server, other.port);
  }
  bool operator==(const Service &other) const = default;
};

// Maps the addresses at the client's end to those at the server's end. A service with several servers has several entries.
using Translations = std::multimap<Service, Service>;

// Adds the translation, unless it is already stored or does not change the address.
void add_translation(const Service &seen, const Service &real, Translations &translations);
// Adds the translated addresses and ports of the connections in the text. Returns the number of connections in the text, translated
// or not.
size_t add_translations(std::string_view text, Translations &translations);

}  // namespace atalaya::graph
