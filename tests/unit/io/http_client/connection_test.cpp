// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/client/connection.h"

#include <doctest/doctest.h>

#include "tests/unit/io/http_client/server.h"

using namespace atalaya::http_client;
using atalaya::http_client::testing::answer;
using atalaya::http_client::testing::Server;

namespace {

// The first request to a proxy on the way to the url.
std::string connect_line(const char *url) {
  Server proxy([](const auto &) { return answer("403 Forbidden"); });
  Deadlines deadlines;
  ConnectionOptions options;
  options.proxy_host = "127.0.0.1";
  options.proxy_port = proxy.port;
  options.timeout = options.deadline = std::chrono::seconds(60);
  Connection connection(options, deadlines);
  CHECK_THROWS_AS(connection.exchange(parse_url(url, "/"), {.method = "GET", .target = "/"}), NoAnswer);
  REQUIRE_FALSE(proxy.asked().empty());
  return proxy.asked().front().head;
}

}  // namespace

TEST_CASE("http: a proxy gets host and port, an address of IPv6 in brackets") {
  for (const auto &[url, authority] :
       {std::pair("https://hub.example", "hub.example:443"), std::pair("https://hub.example:4242", "hub.example:4242"),
        std::pair("https://[2001:db8::1]", "[2001:db8::1]:443"), std::pair("https://[2001:db8::1]:4242/x", "[2001:db8::1]:4242")}) {
    const std::string head = connect_line(url) + "\r\n";
    CHECK(head.find("CONNECT " + std::string(authority) + " HTTP/1.1\r\n") == 0);
    CHECK(head.find("\r\nHost: " + std::string(authority) + "\r\n") != std::string::npos);
  }
}
