// SPDX-License-Identifier: Apache-2.0
// Connections whose addresses or ports the host translates, summed by service.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "plugins/sources/nat/conntrack_messages.h"

namespace atalaya::nat {

// Connections of one client to one service; the client's ports are omitted, as in flows.
struct Service {
  Address client{}, server{};
  uint16_t port = 0;
  auto operator<=>(const Service &) const = default;
};

struct Translation {
  uint8_t protocol = 0;
  Service seen;  // by the client
  Service real;  // as the server sees it
  auto operator<=>(const Translation &) const = default;
};

struct Sums {
  std::vector<std::pair<Translation, uint64_t>> largest;  // with their connections
  uint64_t others = 0;                                    // connections of all others
};

class Translations {
 public:
  explicit Translations(size_t max) : max_(max) {}

  void clear();
  // Ignores connections that keep their addresses and the service's port.
  void add(const Connection &connection);
  // At most `max`, those with the most connections.
  Sums sums() const;

 private:
  size_t max_;
  std::map<Translation, uint64_t> counts_;
  uint64_t others_ = 0;  // without room in the map
};

}  // namespace atalaya::nat
