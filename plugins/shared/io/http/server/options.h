// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace atalaya::http_server {

struct Options {
  unsigned threads = 2;
  unsigned max_connections = 10000;
  bool half_per_address = false;  // limits each client address to half of the connections
  size_t max_header = size_t{16} << 10;
  int64_t request_timeout_ns = 30'000'000'000;
  int64_t idle_timeout_ns = 300'000'000'000;
  std::string certificate, key;  // PEM texts; empty: no TLS
};

// Reads the parameters that all servers share: max_connections, max_header, request_timeout, idle_timeout. Does not set `threads`
// and the PEM texts.
Options read_options(Host host);
// The paths in `certificate` and `key`. Throws if only one of them is set.
struct TlsFiles {
  std::string certificate, key;
};
TlsFiles read_tls_files(Host host);
// Reads the files into the options. Throws with the reason. Components call it when they are created, too, because a reload that
// fails then stops nothing.
void load_tls(const TlsFiles &files, Options &options);

}  // namespace atalaya::http_server
