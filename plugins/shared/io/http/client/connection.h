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
  std::string text;    // for people
};
// Throws Failure (bad_config). A URL without a path gets `default_path`.
Url parse_url(const std::string &text, const std::string &default_path);

struct ConnectionOptions {
  Poco::Net::Context::Ptr tls;  // null: no URL needs it
  std::string proxy_host;       // empty: none
  uint16_t proxy_port = 0;
  bool chunked = false;
  std::chrono::nanoseconds timeout{};   // limit for the silence of the server
  std::chrono::nanoseconds connect{};   // limit for connecting; 0: as `timeout`
  std::chrono::nanoseconds deadline{};  // of a whole exchange
};

struct Request {
  std::string_view method, target, content_type, content_encoding, authorization, body;
  std::string_view header, header_value;  // another header; "": none
};
struct Answer {
  int status = 0;
  std::string retry_after, location;
  std::string body;  // its beginning
};

// Receives the body of a 2xx answer in pieces, instead of `body`; false: stop.
using BodyReader = std::function<bool(std::string_view piece)>;

// No complete answer: it is unknown whether the server accepted the request.
class NoAnswer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One keep-alive connection to one server at a time. One thread.
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
  std::chrono::nanoseconds patience(Deadline deadline) const;

  const ConnectionOptions &options_;
  Deadlines &deadlines_;
  std::shared_ptr<Session> session_;
  std::string connected_to_;  // text of the URL
};

}  // namespace atalaya::http_client
