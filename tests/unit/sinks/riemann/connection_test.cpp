// SPDX-License-Identifier: Apache-2.0
// Against servers on loopback with set behaviour.
#include "plugins/sinks/riemann/connection.h"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "plugins/shared/io/http/client/connection.h"

using namespace atalaya::protocols;
using namespace atalaya::riemann_sink;
using namespace std::string_literals;
using atalaya::http_client::Deadlines;
using atalaya::http_client::NoAnswer;

namespace {

const std::string kOk = "\0\0\0\x02\x10\x01"s;

// Says something for each message of four bytes, on one connection after the other.
class Peer {
 public:
  using Script = std::function<std::string(int message)>;  // "": the connection is closed
  explicit Peer(Script script) : script_(std::move(script)), socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(::bind(socket_, reinterpret_cast<sockaddr *>(&address), size) == 0);
    REQUIRE(::listen(socket_, 8) == 0);
    ::getsockname(socket_, reinterpret_cast<sockaddr *>(&address), &size);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { work(); });
  }
  Peer(const Peer &) = delete;
  Peer &operator=(const Peer &) = delete;
  ~Peer() {  // the client is gone by then
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  uint16_t port = 0;
  std::atomic<int> messages = 0, connections = 0;

 private:
  void work() {
    for (;;) {
      const int client = ::accept(socket_, nullptr, nullptr);
      if (client < 0) return;
      ++connections;
      char message[4];
      while (::recv(client, message, sizeof(message), MSG_WAITALL) == sizeof(message)) {
        const std::string said = script_(++messages);
        if (said.empty() || ::send(client, said.data(), said.size(), MSG_NOSIGNAL) < 0) break;
      }
      ::close(client);
    }
  }
  Script script_;
  int socket_;
  std::thread thread_;
};

struct Client {
  explicit Client(uint16_t port, std::chrono::milliseconds deadline = std::chrono::seconds(60))
      : connection({{"127.0.0.1", port, "riemann"}, nullptr, std::chrono::seconds(60), deadline}, deadlines) {}
  Deadlines deadlines;
  Connection connection;
};

}  // namespace

TEST_CASE("riemann: one connection for many messages") {
  Peer server([](int message) { return message == 2 ? "\0\0\0\x07\x10\x00\x1a\x03"s + "bad" : kOk; });
  Client client(server.port);
  CHECK(client.connection.exchange("ping").accepted);
  CHECK(client.connection.exchange("ping").server_message == "bad");
  CHECK(client.connection.exchange("ping").accepted);
  CHECK(server.connections == 1);
}

TEST_CASE("riemann: a connection that is cut is opened again") {
  Peer server([](int message) { return message == 1 ? ""s : kOk; });
  Client client(server.port);
  CHECK_THROWS_WITH_AS(client.connection.exchange("ping"), doctest::Contains("without an answer"), NoAnswer);
  CHECK(client.connection.exchange("ping").accepted);
  CHECK(server.connections == 2);
}

TEST_CASE("riemann: an idle connection that is not as it was left gets no message") {
  // The second answer represents any readable input: bytes, or the end.
  Peer server([](int message) { return message == 1 ? kOk + kOk : kOk; });
  Client client(server.port);
  CHECK(client.connection.exchange("ping").accepted);
  CHECK(client.connection.exchange("ping").accepted);
  CHECK(server.connections == 2);
  CHECK(server.messages == 2);
}

TEST_CASE("riemann: other servers") {
  for (const std::string &said : {"HTTP/1.1 400 Bad Request\r\n\r\n"s, "\0\0\0\x03"s + "abc", "\0\0\0\0"s}) {
    Peer server([&](int) { return said; });
    Client client(server.port);
    CHECK_THROWS_WITH_AS(client.connection.exchange("ping"), doctest::Contains("not a Riemann server"), NoAnswer);
  }
}

TEST_CASE("riemann: half an answer ends at the deadline, a closed port at once") {
  uint16_t port = 0;
  {
    Peer server([](int) { return "\0\0\0"s; });
    port = server.port;
    Client client(server.port, std::chrono::milliseconds(50));
    CHECK_THROWS_WITH_AS(client.connection.exchange("ping"), "no answer within the deadline", NoAnswer);
  }
  Client client(port);
  CHECK_THROWS_WITH_AS(client.connection.exchange("ping"), doctest::Contains("refused"), NoAnswer);
}
