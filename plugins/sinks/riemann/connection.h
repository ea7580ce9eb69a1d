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
  Poco::Net::Context::Ptr tls;          // null: plain
  std::chrono::nanoseconds timeout{};   // limit for connecting, and for the silence of the server
  std::chrono::nanoseconds deadline{};  // of a message and its answer
};

// One connection that is kept open. The library's connection has no deadline for connecting, treats a partly sent message as sent
// and allocates any length that a server announces. So only the encoding is the library's. One thread.
class Connection {
 public:
  Connection(ConnectionOptions options, http_client::Deadlines &deadlines) : options_(std::move(options)), deadlines_(deadlines) {}

  // Connects if necessary. Throws http_client::NoAnswer: it is unknown whether the server accepted the message.
  protocols::Answer exchange(std::string_view message);
  const std::string &name() const { return options_.server.text; }

 private:
  void connect(http_client::Deadline deadline);
  bool is_stale();
  protocols::Answer converse(std::string_view message, http_client::Deadline deadline);
  void receive(std::span<char> bytes);
  Poco::Timespan patience(http_client::Deadline deadline) const;

  const ConnectionOptions options_;
  http_client::Deadlines &deadlines_;
  std::optional<Poco::Net::StreamSocket> socket_;
};

}  // namespace atalaya::riemann_sink
