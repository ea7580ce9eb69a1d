// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace atalaya::riemann_sink {

struct Server {
  std::string host;
  uint16_t port = 0;
  std::string text;  // text in log lines
};
// Parses "host", "host:port" or "[::1]:port"; the default port depends on `tls`. Throws Failure (bad_config).
Server parse_server(const std::string &text, bool tls);

}  // namespace atalaya::riemann_sink
