// SPDX-License-Identifier: Apache-2.0
// Traffic as reported by each end, summed over a time range.
#pragma once

#include <string>

namespace atalaya::graph {

struct Amount {
  double out = 0, in = 0;  // bytes, as this end sees them
};

struct Flow {
  std::string host, pid, process;
  std::string container, command;  // empty: not reported
  std::string netns;               // empty: the host's own
  std::string local, remote;       // addresses; "*": not known
  std::string other_port;          // the client's; empty: several, merged
  std::string port, protocol;
  bool opened = true;  // from here; else accepted
  Amount moved;

  const std::string &server() const { return opened ? remote : local; }
  const std::string &client() const { return opened ? local : remote; }
};

// Addresses that mean another place on each host and in each network namespace.
bool is_loopback(const std::string &address);

// "10.0.0.1:80" or "[::1]:80" to its address and port; without a port the port is empty.
struct Endpoint {
  std::string address, port;
};
Endpoint endpoint_of(const std::string &text);

}  // namespace atalaya::graph
