// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Poco/Net/Context.h>
#include <Poco/Net/StreamSocket.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plugins/shared/io/http/client/deadlines.h"
#include "plugins/shared/protocols/riemann/answer.h"
#include "plugins/sinks/riemann/server.h"

namespace atalaya::riemann_sink {

struct ConnectionOptions {
  Server server;
  Poco::Net::Context::Ptr tls;          // null: no TLS
  std::chrono::nanoseconds timeout{};   // maximum time to connect, and to wait for the next bytes of the server
  std::chrono::nanoseconds deadline{};  // maximum time for a message and its answer
};

// A persistent connection to a Riemann server. It uses only the encoding of riemann-client: the connection of that library has no
// timeout for connecting, treats a partly sent message as sent and allocates any length that a server announces. Not thread-safe.
class Connection {
 public:
  Connection(ConnectionOptions options, http_client::Deadlines &deadlines) : options_(std::move(options)), deadlines_(deadlines) {}

  // Connects if necessary, sends the message and receives the answer. Throws http_client::NoAnswer if it is unknown whether the
  // server accepted the message.
  protocols::Answer exchange(std::string_view message);
  const std::string &name() const { return options_.server.text; }

 private:
  void connect(http_client::Deadline deadline);
  bool is_stale();
  protocols::Answer send_and_receive(std::string_view message, http_client::Deadline deadline);
  void receive(std::span<char> bytes);
  Poco::Timespan remaining_time(http_client::Deadline deadline) const;

  const ConnectionOptions options_;
  http_client::Deadlines &deadlines_;
  std::optional<Poco::Net::StreamSocket> socket_;
};

}  // namespace atalaya::riemann_sink
