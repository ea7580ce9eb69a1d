// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/base/files.h"

namespace atalaya::http_server {

struct Address {
  std::string host, port;
};
// "127.0.0.1:4242", "[::1]:4242", "*:4242" (all addresses). Throws when it is none.
Address parse_address(std::string_view text);

struct Listener {
  core::Descriptor socket;
  std::string name;       // where it listens, with the port that was given for port 0
  bool reachable = true;  // from other hosts
};
// Throws with what is wrong and what to do.
Listener open_listener(const Address &address);
// Throws when other hosts can reach it, no token is asked for, and nobody has said that this is meant.
void check_reach(const Listener &listener, bool asks_for_token, bool open);

}  // namespace atalaya::http_server
