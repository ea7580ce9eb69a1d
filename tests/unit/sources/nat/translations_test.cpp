// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/nat/translations.h"

#include <doctest/doctest.h>
#include <netinet/in.h>

#include <random>
#include <set>
#include <tuple>

namespace atalaya::nat {
namespace {

Address address(uint8_t last) {
  Address address{};
  address[10] = address[11] = 0xff;
  address[12] = 10;
  address[15] = last;
  return address;
}

Connection connection(uint8_t client, uint16_t client_port, uint8_t service, uint16_t port, uint8_t server, uint16_t server_port,
                      uint8_t client_there) {
  return {IPPROTO_TCP,
          {address(client), address(service), client_port, port},
          {address(server), address(client_there), server_port, client_port}};
}

TEST_CASE("connections of one client to one service are one translation, whatever the client's ports") {
  Translations translations(10);
  translations.add(connection(1, 1000, 9, 80, 2, 8080, 1));
  translations.add(connection(1, 1001, 9, 80, 2, 8080, 1));
  translations.add(connection(1, 1002, 9, 80, 3, 8080, 1));  // another server
  translations.add(connection(1, 1003, 4, 22, 4, 22, 1));    // not translated
  const auto found = translations.sums().largest;
  REQUIRE(found.size() == 2);
  CHECK(found[0].first.seen.server == address(9));
  CHECK(found[0].first.seen.port == 80);
  CHECK(found[0].first.real.server == address(2));
  CHECK(found[0].first.real.port == 8080);
  CHECK(found[0].first.real.client == address(1));
  CHECK(found[0].second == 2);
  CHECK(found[1].second == 1);
  CHECK(translations.sums().others == 0);
}

TEST_CASE("another source address alone is a translation; another client's port alone is none") {
  Translations translations(10);
  translations.add(connection(1, 1000, 4, 22, 4, 22, 7));
  Connection port_only = connection(1, 1000, 4, 22, 4, 22, 1);
  port_only.answer.target_port = 2000;
  translations.add(port_only);
  const auto found = translations.sums().largest;
  REQUIRE(found.size() == 1);
  CHECK(found[0].first.real.client == address(7));
}

TEST_CASE("each translated connection counts once, whatever the maximum") {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const size_t max = 1 + random() % 20;
    Translations translations(max);
    uint64_t translated = 0;
    for (int i = 0; i < 500; ++i) {
      const auto number = [&](uint32_t below) { return static_cast<uint8_t>(random() % below + 1); };
      const uint8_t client = number(9), service = number(9), server = number(9), port = number(3), real = number(3);
      translations.add(connection(client, number(200), service, port, server, real, client));
      if (service != server || port != real) ++translated;
    }
    const Sums sums = translations.sums();
    uint64_t sum = sums.others;
    std::set<Translation> distinct;
    for (const auto &[one, connections] : sums.largest) {
      sum += connections;
      distinct.insert(one);
    }
    CHECK(distinct.size() == sums.largest.size());
    CHECK(distinct.size() <= max);
    CHECK(sum == translated);
  }
}

}  // namespace
}  // namespace atalaya::nat
