// SPDX-License-Identifier: Apache-2.0
// Counts the connections whose addresses or ports the host translates (NAT), by service.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "plugins/sources/nat/conntrack_messages.h"

namespace atalaya::nat {

// Key of a sum: one client address and one service address and port. The client's ports are omitted, as in flows.
struct Service {
  Address client{}, server{};
  uint16_t port = 0;
  auto operator<=>(const Service &) const = default;
};

struct Translation {
  uint8_t protocol = 0;
  Service seen;  // addresses that the client uses
  Service real;  // addresses that the server uses
  auto operator<=>(const Translation &) const = default;
};

struct Sums {
  std::vector<std::pair<Translation, uint64_t>> largest;  // translation and its number of connections
  uint64_t others = 0;                                    // connections of all other translations
};

class Translations {
 public:
  explicit Translations(size_t max) : max_(max) {}

  void clear();
  // Counts a connection; ignores it if addresses and server port are not translated.
  void add(const Connection &connection);
  // Returns the translations with the most connections.
  Sums sums() const;

 private:
  size_t max_;
  std::map<Translation, uint64_t> counts_;
  uint64_t others_ = 0;  // connections beyond the maximum size of the map
};

}  // namespace atalaya::nat
