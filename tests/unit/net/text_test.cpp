// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/net/text.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/net/records.h"

namespace atalaya::net {
namespace {

TEST_CASE("addresses are written as people write them") {
  const net_ends pair = ends(1, 0, 2, 0);
  CHECK(AddressText(pair.local).text() == "10.0.0.1");
  CHECK(AddressText(pair.remote, 80).text() == "10.0.0.2:80");
  uint8_t six[16] = {0xfe, 0x80};
  six[15] = 1;
  CHECK(AddressText(six).text() == "fe80::1");
  CHECK(AddressText(six, 443).text() == "[fe80::1]:443");
  const uint8_t any[16] = {};
  CHECK(AddressText(any).text() == "*");
  CHECK(AddressText(any, 53).text() == "*:53");
  const uint8_t any_four[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  CHECK(AddressText(any_four).text() == "*");
  uint8_t longest[16];
  for (uint8_t &byte : longest) byte = 0xee;
  CHECK(AddressText(longest, 65535).text() == "[eeee:eeee:eeee:eeee:eeee:eeee:eeee:eeee]:65535");
}

TEST_CASE("the start of a process is found behind any name") {
  const std::string_view fields = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
  for (const std::string_view name : {"(x)", "(a b) (c)", "() S 1)", "()"}) {
    const std::string text = "12 " + std::string(name) + std::string(fields);
    CHECK(start_ticks(text) == 4711);
    CHECK(name_in(text) == name.substr(1, name.size() - 2));
  }
  CHECK_FALSE(start_ticks("12 (x) S 1 2").has_value());
  CHECK_FALSE(start_ticks("").has_value());
  CHECK(name_in("12 )(").empty());
}

}  // namespace
}  // namespace atalaya::net
