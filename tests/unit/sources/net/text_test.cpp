// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/network/address_text.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/sources/net/records.h"

namespace atalaya::net {
namespace {

using network::AddressText;

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

}  // namespace
}  // namespace atalaya::net
