// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Poco/Net/Context.h>
#include <Poco/Net/HTTPClientSession.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "plugins/shared/io/http/client/deadlines.h"

namespace atalaya::http_client {

// The target of requests.
struct Url {
  bool tls = false;
  std::string host;
  uint16_t port = 0;
  std::string target;  // path and query
  std::string text;    // the URL for messages
};
// Throws Failure (bad_config). A URL without a path gets `default_path`.
Url parse_url(const std::string &text, const std::string &default_path);

struct ConnectionOptions {
  Poco::Net::Context::Ptr tls;  // null if no URL is https
  std::string proxy_host;       // empty: no proxy
  uint16_t proxy_port = 0;
  bool chunked = false;
  std::chrono::nanoseconds timeout{};   // maximum time without a byte from the server
  std::chrono::nanoseconds connect{};   // maximum time for connecting; 0: as `timeout`
  std::chrono::nanoseconds deadline{};  // maximum time of a complete exchange
};

struct Request {
  std::string_view method, target, content_type, content_encoding, authorization, body;
  std::string_view header, header_value;  // a further header; "": none
};
struct Answer {
  int status = 0;
  std::string retry_after, location;
  std::string body;  // start of the body, up to a limit
};

// Receives the body of a 2xx answer in pieces, instead of Answer::body. Returns false to stop.
using BodyReader = std::function<bool(std::string_view piece)>;

// The server sent no complete answer; it may have accepted the request.
class NoAnswer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A keep-alive connection to one server, which can change between requests. One thread.
class Connection {
 public:
  Connection(const ConnectionOptions &options, Deadlines &deadlines) : options_(options), deadlines_(deadlines) {}

  // Connects if necessary. Throws NoAnswer.
  Answer exchange(const Url &url, const Request &request, const BodyReader &reader = nullptr);
  void close();

 private:
  class Session;
  void connect(const Url &url, Deadline deadline);
  void tunnel(Poco::Net::StreamSocket &socket, const Url &url, Deadline deadline);
  Answer send(const Url &url, const Request &request, Deadline deadline, const BodyReader &reader);
  Answer receive(Deadline deadline, const BodyReader &reader);
  std::chrono::nanoseconds timeout_until(Deadline deadline) const;

  const ConnectionOptions &options_;
  Deadlines &deadlines_;
  std::shared_ptr<Session> session_;
  std::string connected_to_;  // text of the connected server's URL
};

}  // namespace atalaya::http_client
