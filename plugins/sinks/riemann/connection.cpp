// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/riemann/connection.h"

#include <Poco/Exception.h>
#include <Poco/Net/NetException.h>
#include <Poco/Net/SecureStreamSocket.h>
#include <Poco/Net/SocketAddress.h>
#include <sys/socket.h>

#include <algorithm>
#include <system_error>

#include "plugins/shared/io/http/client/connection.h"

namespace atalaya::riemann_sink {

using http_client::Deadline;
using http_client::NoAnswer;
using std::chrono::steady_clock;

Poco::Timespan Connection::remaining_time(Deadline deadline) const {
  const std::chrono::nanoseconds left = std::min<std::chrono::nanoseconds>(options_.timeout, deadline - steady_clock::now());
  return std::max<Poco::Timespan::TimeDiff>(1, std::chrono::duration_cast<std::chrono::microseconds>(left).count());
}

protocols::Answer Connection::exchange(std::string_view message) {
  const Deadline deadline = steady_clock::now() + options_.deadline;
  try {
    if (!socket_ || is_stale()) connect(deadline);
    return send_and_receive(message, deadline);
  } catch (const Poco::Exception &problem) {
    socket_.reset();
    if (steady_clock::now() >= deadline) throw NoAnswer("no answer within the deadline");
    throw NoAnswer(problem.displayText());
  } catch (const std::system_error &problem) {  // no descriptor available
    socket_.reset();
    throw NoAnswer(problem.what());
  }
}

// Whether the server has closed the idle connection: then the socket is readable between an answer and the next message. The check
// before a send avoids messages of which it is unknown whether they arrived.
bool Connection::is_stale() {
  return socket_->poll(Poco::Timespan(0), Poco::Net::Socket::SELECT_READ | Poco::Net::Socket::SELECT_ERROR);
}

void Connection::connect(Deadline deadline) {
  socket_.reset();
  const Server &server = options_.server;
  const Poco::Net::SocketAddress address(server.host, server.port);
  Poco::Net::StreamSocket socket(address.family());
  socket.connect(address, remaining_time(deadline));
  const http_client::Deadlines::Guard guard(deadlines_, socket.impl()->sockfd(), deadline);
  socket.setNoDelay(true);
  socket.setSendTimeout(remaining_time(deadline));
  socket.setReceiveTimeout(remaining_time(deadline));
  if (!options_.tls.isNull()) socket = Poco::Net::SecureStreamSocket::attach(socket, server.host, options_.tls);
  socket_ = socket;
}

protocols::Answer Connection::send_and_receive(std::string_view message, Deadline deadline) {
  const http_client::Deadlines::Guard guard(deadlines_, socket_->impl()->sockfd(), deadline);
  socket_->setSendTimeout(remaining_time(deadline));
  socket_->setReceiveTimeout(remaining_time(deadline));
  while (!message.empty()) {
    const int sent = socket_->sendBytes(message.data(), static_cast<int>(message.size()), MSG_NOSIGNAL);
    if (sent <= 0) throw Poco::Net::ConnectionResetException("the server closed the connection");
    message.remove_prefix(static_cast<size_t>(sent));
  }
  unsigned char header[4];
  receive({reinterpret_cast<char *>(header), sizeof(header)});
  const uint32_t length = protocols::length_of(header);
  if (length > protocols::kMaxAnswerLength)
    throw Poco::Net::NetException("not a Riemann server: it announces " + std::to_string(length) + " bytes");
  std::string body(length, '\0');
  receive(body);
  if (auto answer = protocols::read_answer(body)) return *answer;
  throw Poco::Net::NetException("not a Riemann server: its answer cannot be parsed");
}

void Connection::receive(std::span<char> bytes) {
  while (!bytes.empty()) {
    const int got = socket_->receiveBytes(bytes.data(), static_cast<int>(bytes.size()));
    if (got <= 0) throw Poco::Net::ConnectionResetException("the server closed the connection without an answer");
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
}

}  // namespace atalaya::riemann_sink
