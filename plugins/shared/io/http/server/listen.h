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
  bool reachable = true;  // from other hosts
};
// Throws with the reason and the remedy.
Listener open_listener(const Address &address);
// The same for datagrams of UDP.
Listener open_datagrams(const Address &address);
// Throws if other hosts can reach it without tokens and without `open`.
void check_reach(const Listener &listener, bool asks_for_token, bool open);

}  // namespace atalaya::http_server
