// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/client/connection.h"

#include <Poco/Exception.h>
#include <Poco/Net/HTTPRequest.h>
#include <Poco/Net/HTTPResponse.h>
#include <Poco/Net/NetException.h>
#include <Poco/Net/SecureStreamSocket.h>
#include <Poco/URI.h>
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <istream>
#include <ostream>
#include <system_error>

namespace atalaya::http_client {
namespace {

using Poco::Net::HTTPMessage;
using Poco::Net::HTTPRequest;
using Poco::Net::HTTPResponse;
using std::chrono::steady_clock;

constexpr size_t kMaxAnswer = size_t{16} << 20;  // a list of refused points can be long
constexpr int kMaxHeaders = 100;

Poco::Timespan span_of(std::chrono::nanoseconds time) {
  return std::max<Poco::Timespan::TimeDiff>(1, std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

std::string bracketed(const std::string &host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}
std::string host_and_port(const Url &url) {
  return bracketed(url.host) + ":" + std::to_string(url.port);
}
std::string host_header(const Url &url) {
  const bool usual = url.port == (url.tls ? 443 : 80);
  return usual ? bracketed(url.host) : host_and_port(url);
}

}  // namespace

Url parse_url(const std::string &text, const std::string &default_path) {
  Url url;
  // An error about a URL does not quote it if it may contain a password.
  try {
    const Poco::URI uri(text);
    if (!uri.getUserInfo().empty()) throw Failure(Code::bad_config, "a url contains a password; put it in a file and set `basic`");
    if (uri.getScheme() != "http" && uri.getScheme() != "https")
      throw Failure(Code::bad_config, "url \"" + text + "\" must begin with http:// or https://");
    if (uri.getHost().empty() || uri.getPort() == 0) throw Failure(Code::bad_config, "url \"" + text + "\" has no host");
    url.tls = uri.getScheme() == "https";
    url.host = uri.getHost();
    url.port = uri.getPort();
    url.target = uri.getPathAndQuery();
  } catch (const Poco::Exception &problem) {
    throw Failure(Code::bad_config, "invalid url (" + problem.displayText() + "); write http://host:port/path");
  }
  if (url.target.empty() || url.target == "/") url.target = default_path;
  if (url.target[0] == '?') url.target.insert(0, default_path);
  url.text = (url.tls ? "https://" : "http://") + host_header(url) + url.target.substr(0, url.target.find('?'));
  return url;
}

// A session on a connected socket. Poco would reconnect automatically, without the deadline and the proxy's tunnel: this class
// throws instead.
class Connection::Session final : public Poco::Net::HTTPClientSession {
 public:
  // The address is a placeholder that is never used: a name would be resolved here, before `connect`.
  explicit Session(const Poco::Net::StreamSocket &socket) : HTTPClientSession("127.0.0.1", HTTP_PORT) {
    attachSocket(socket);
    setKeepAlive(true);
    setKeepAliveTimeout(Poco::Timespan(Poco::Timespan::DAYS));
  }

 protected:
  void connect(const Poco::Net::SocketAddress & /*address*/) override {
    throw Poco::Net::ConnectionResetException("the server closed the connection");
  }
};

std::chrono::nanoseconds Connection::timeout_until(Deadline deadline) const {
  return std::min<std::chrono::nanoseconds>(options_.timeout, deadline - steady_clock::now());
}

void Connection::close() {
  session_.reset();
  connected_to_.clear();
}

Answer Connection::exchange(const Url &url, const Request &request, const BodyReader &reader) {
  const Deadline deadline = steady_clock::now() + options_.deadline;
  bool begun = false;
  BodyReader counted;
  if (reader) counted = [&](std::string_view piece) { return begun = true, reader(piece); };
  try {
    if (session_ && connected_to_ == url.text) {
      try {
        return send(url, request, deadline, counted);
      } catch (const Poco::Exception &) {
        // The server may have closed the idle connection. Retry once on a new one: a point that is written twice is the same
        // point.
        if (begun || steady_clock::now() >= deadline) throw;
      }
    }
    close();
    connect(url, deadline);
    return send(url, request, deadline, counted);
  } catch (const Poco::Exception &problem) {
    close();
    if (steady_clock::now() >= deadline) throw NoAnswer("no answer within the deadline");
    throw NoAnswer(problem.displayText());
  } catch (const std::system_error &problem) {  // an error of the stream, or no descriptor available
    close();
    throw NoAnswer(problem.what());
  }
}

void Connection::connect(const Url &url, Deadline deadline) {
  const bool proxied = !options_.proxy_host.empty();
  const Poco::Net::SocketAddress address(proxied ? options_.proxy_host : url.host, proxied ? options_.proxy_port : url.port);
  Poco::Net::StreamSocket socket(address.family());
  const bool own_patience = options_.connect.count() > 0;
  socket.connect(address, span_of(own_patience ? std::min(options_.connect, timeout_until(deadline)) : timeout_until(deadline)));
  const Deadlines::Guard guard(deadlines_, socket.impl()->sockfd(), deadline);
  socket.setNoDelay(true);
  socket.setSendTimeout(span_of(timeout_until(deadline)));
  socket.setReceiveTimeout(span_of(timeout_until(deadline)));
  if (url.tls) {
    if (proxied) tunnel(socket, url, deadline);
    socket = Poco::Net::SecureStreamSocket::attach(socket, url.host, options_.tls);
  }
  session_ = std::make_shared<Session>(socket);
  connected_to_ = url.text;
}

// Requests a tunnel from the proxy (CONNECT); later bytes are sent to the server.
void Connection::tunnel(Poco::Net::StreamSocket &socket, const Url &url, Deadline deadline) {
  const auto way = std::make_shared<Session>(socket);
  way->setTimeout(span_of(timeout_until(deadline)));
  HTTPRequest request(HTTPRequest::HTTP_CONNECT, host_and_port(url), HTTPMessage::HTTP_1_1);
  request.set("Host", host_and_port(url));
  way->sendRequest(request);
  HTTPResponse response;
  response.setFieldLimit(kMaxHeaders);
  way->receiveResponse(response);
  if (response.getStatus() != HTTPResponse::HTTP_OK)
    throw Poco::Net::HTTPException("the proxy answered " + std::to_string(response.getStatus()) + " " + response.getReason());
  socket = way->detachSocket();
}

Answer Connection::send(const Url &url, const Request &request, Deadline deadline, const BodyReader &reader) {
  const Deadlines::Guard guard(deadlines_, session_->socket().impl()->sockfd(), deadline);
  session_->setTimeout(span_of(timeout_until(deadline)));
  const bool absolute = !options_.proxy_host.empty() && !url.tls;  // requests to proxies have the absolute URL
  const std::string target = (absolute ? "http://" + host_header(url) : "") + std::string(request.target);
  HTTPRequest head(std::string(request.method), target, HTTPMessage::HTTP_1_1);
  head.set("Host", host_header(url));
  head.set("User-Agent", "atalaya");
  if (!request.authorization.empty()) head.set("Authorization", std::string(request.authorization));
  if (!request.content_type.empty()) head.setContentType(std::string(request.content_type));
  if (!request.content_encoding.empty()) head.set("Content-Encoding", std::string(request.content_encoding));
  if (!request.header.empty()) head.set(std::string(request.header), std::string(request.header_value));
  const bool has_body = request.method == HTTPRequest::HTTP_POST;
  if (has_body && options_.chunked) head.setChunkedTransferEncoding(true);
  if (has_body && !options_.chunked) head.setContentLength64(static_cast<Poco::Int64>(request.body.size()));
  std::ostream &out = session_->sendRequest(head);
  if (has_body) out.write(request.body.data(), static_cast<std::streamsize>(request.body.size()));
  out.flush();
  if (!out.good() && session_->networkException() != nullptr) session_->networkException()->rethrow();
  return receive(deadline, reader);
}

Answer Connection::receive(Deadline deadline, const BodyReader &reader) {
  HTTPResponse head;
  head.setFieldLimit(kMaxHeaders);
  std::istream &in = session_->receiveResponse(head);
  Answer answer;
  answer.status = head.getStatus();
  answer.retry_after = head.get("Retry-After", "");
  answer.location = head.get("Location", "");
  const bool in_pieces = reader && answer.status / 100 == 2;
  size_t size = 0;
  bool enough = false;
  char piece[8192];
  while (!enough) {
    in.read(piece, sizeof(piece));
    const std::string_view got(piece, static_cast<size_t>(in.gcount()));
    size += got.size();
    if (!in_pieces) answer.body += got;
    enough = in_pieces ? !got.empty() && !reader(got) : size > kMaxAnswer;
    if (!in) break;
  }
  if (session_->networkException() != nullptr) session_->networkException()->rethrow();
  if (steady_clock::now() >= deadline) throw Poco::TimeoutException("the answer took too long");
  if (head.hasContentLength() && std::cmp_less(size, head.getContentLength64()) && !enough)
    throw Poco::Net::ConnectionResetException("incomplete answer");
  if (!head.getKeepAlive() || enough) close();
  return answer;
}

}  // namespace atalaya::http_client
