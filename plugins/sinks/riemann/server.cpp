// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/riemann/server.h"

#include <Poco/Exception.h>
#include <Poco/URI.h>
#include <atalaya/plugin.hpp>

#include <string_view>

namespace atalaya::riemann_sink {
namespace {

constexpr uint16_t kPort = 5555, kTlsPort = 5554;
constexpr std::string_view kAllowedCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:[]%";

[[noreturn]] void refuse(const std::string &text) {
  throw Failure(Code::bad_config, "server \"" + text + "\" is not HOST or HOST:PORT; write server = \"riemann:5555\"");
}

}  // namespace

Server parse_server(const std::string &text, bool tls) {
  Server server;
  if (text.find_first_not_of(kAllowedCharacters) != std::string::npos) refuse(text);
  try {
    const Poco::URI uri("riemann://" + text);
    if (uri.getHost().empty()) refuse(text);
    server.host = uri.getHost();
    server.port = uri.getPort();
  } catch (const Poco::Exception &) {
    refuse(text);
  }
  if (server.port == 0) server.port = tls ? kTlsPort : kPort;
  const std::string host = server.host.find(':') == std::string::npos ? server.host : "[" + server.host + "]";
  server.text = "riemann at " + host + ":" + std::to_string(server.port);
  return server;
}

}  // namespace atalaya::riemann_sink
