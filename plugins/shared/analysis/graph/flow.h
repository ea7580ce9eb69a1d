// SPDX-License-Identifier: Apache-2.0
// The traffic of connections over a time range, as each end reported it.
#pragma once

#include <string>

namespace atalaya::graph {

struct Amount {
  double out = 0, in = 0;  // bytes that this end sent and received
};

struct Flow {
  std::string host, pid, process;
  std::string container, command;  // empty: not reported
  std::string netns;               // empty: the host's own
  std::string local, remote;       // addresses; "*": unknown
  std::string other_port;          // port of the client; empty: the flow is a sum over several
  std::string port, protocol;
  bool opened = true;  // this process opened the connection; false: it accepted it
  Amount moved;

  const std::string &server() const { return opened ? remote : local; }
  const std::string &client() const { return opened ? local : remote; }
};

// Returns true for addresses that refer to the own host and network namespace.
bool is_loopback(const std::string &address);

// Address and port of "10.0.0.1:80" or "[::1]:80"; the port is empty if the text has none.
struct Endpoint {
  std::string address, port;
};
Endpoint endpoint_of(const std::string &text);

}  // namespace atalaya::graph
