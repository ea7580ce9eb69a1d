// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/riemann/server.h"

#include <doctest/doctest.h>

#include <atalaya/plugin.hpp>
#include <string>

using namespace atalaya::riemann_sink;

TEST_CASE("riemann: a server is a host, and perhaps a port") {
  CHECK(parse_server("riemann", false).port == 5555);
  CHECK(parse_server("riemann", true).port == 5554);
  CHECK(parse_server("riemann:7777", true).port == 7777);
  CHECK(parse_server("riemann:7777", true).host == "riemann");
  CHECK(parse_server("[::1]:7777", false).host == "::1");
  CHECK(parse_server("[::1]", false).text == "riemann at [::1]:5555");
  CHECK(parse_server("127.0.0.1", false).text == "riemann at 127.0.0.1:5555");
}

TEST_CASE("riemann: invalid servers") {
  for (const std::string text :
       {"", ":5555", "riemann:99999", "riemann:x", "tcp://riemann:5555", "riemann/path", "me@riemann", "a b", "a\nb"}) {
    INFO(text);
    CHECK_THROWS_WITH_AS(parse_server(text, false), doctest::Contains("write server = \"riemann:5555\""), atalaya::Failure);
  }
}
