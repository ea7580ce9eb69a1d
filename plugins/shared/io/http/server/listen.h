// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/base/files.h"

namespace atalaya::http_server {

struct Address {
  std::string host, port;
};
// "127.0.0.1:4242", "[::1]:4242", "*:4242" (all addresses). Throws if the text is not an address.
Address parse_address(std::string_view text);

struct Listener {
  core::Descriptor socket;
  std::string name;       // address, with the selected port for port 0
  bool reachable = true;  // reachable from other hosts
};
// Opens a TCP socket. The exception contains the reason and the remedy.
Listener open_listener(const Address &address);
// Opens a UDP socket in the same way.
Listener open_datagrams(const Address &address);
// Throws if other hosts can reach the listener, requests need no token, and the operator has not set `open`.
void check_reach(const Listener &listener, bool asks_for_token, bool open);

}  // namespace atalaya::http_server
