// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/http/server.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "plugins/shared/io/http/server/listen.h"

namespace atalaya::serve {
namespace {

// Workers answer /wait when its client leaves or the test releases it, and other paths at once.
class WaitingServer {
 public:
  explicit WaitingServer(unsigned workers)
      : server_(
            options(workers), nullptr, [this] { return std::make_unique<Waiter>(*this); }, [](auto) {}) {
    http_server::Listener listener = http_server::open_listener(http_server::parse_address("127.0.0.1:0"));
    port_ = static_cast<in_port_t>(std::stoi(listener.name.substr(listener.name.rfind(':') + 1)));
    server_.start(std::move(listener));
  }
  ~WaitingServer() {
    released_ = true;
    released_.notify_all();
    server_.stop();
  }

  int send(std::string_view request, const char *client) const {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = ::htons(port_);
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0);
    const std::string text = std::string(request) + " HTTP/1.0\r\nUser-Agent: " + client + "\r\n\r\n";
    REQUIRE(::send(socket, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
    return socket;
  }
  // The first line of the answer.
  static std::string status(int socket) {
    std::string text;
    char bytes[4096];
    for (ssize_t size = 0; (size = ::recv(socket, bytes, sizeof bytes, 0)) > 0;) text.append(bytes, static_cast<size_t>(size));
    ::close(socket);
    return text.substr(0, text.find('\r'));
  }
  void await_waiting(int count) const {
    for (int now = waiting_; now < count; now = waiting_) waiting_.wait(now);
  }

 private:
  class Waiter final : public Worker {
   public:
    explicit Waiter(WaitingServer &server) : server_(server) {}
    Answer answer(const Request &request) override {
      if (request.path != "/wait") return {200, "{}"};
      ++server_.waiting_;
      server_.waiting_.notify_all();
      while (!*request.cancelled && !server_.released_) ::usleep(1000);
      return {503, "{}"};
    }
    std::string next_part(AnswerRest &) override { return ""; }

   private:
    WaitingServer &server_;
  };

  static ServerOptions options(unsigned workers) {
    ServerOptions options;
    options.http.max_connections = 16;
    options.workers = workers;
    options.writes = [](const Request &request) { return request.method == "DELETE"; };
    return options;
  }

  std::atomic<int> waiting_{0};  // requests for /wait that reached a worker
  std::atomic<bool> released_{false};
  in_port_t port_ = 0;
  Server server_;
};

TEST_CASE("the request of a client that left is cancelled, and its worker takes the next one") {
  const WaitingServer server(1);
  const int first = server.send("GET /wait", "first");
  server.await_waiting(1);
  const int second = server.send("GET /else", "second");
  ::close(first);
  CHECK(server.status(second) == "HTTP/1.1 200 OK");
}

TEST_CASE("one client does not use all workers") {
  const WaitingServer server(2);
  for (int number = 0; number < 3; ++number) server.send("GET /wait", "slow");
  server.await_waiting(1);
  CHECK(server.status(server.send("GET /else", "other")) == "HTTP/1.1 200 OK");
  server.send("GET /wait", "other");
  server.await_waiting(2);
}

TEST_CASE("without tokens the user of the server may change data, another user may only read") {
  if (::geteuid() != 0) return;  // only root can be another user
  const WaitingServer server(1);
  CHECK(server.status(server.send("DELETE /x", "")) == "HTTP/1.1 200 OK");
  const pid_t child = ::fork();
  if (child == 0) {
    const bool other = ::setuid(65534) == 0;
    const bool reads = server.status(server.send("GET /x", "")) == "HTTP/1.1 200 OK";
    const bool refused = server.status(server.send("DELETE /x", "")) == "HTTP/1.1 403 Forbidden";
    ::_exit(other && reads && refused ? 0 : 1);
  }
  int status = 1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace
}  // namespace atalaya::serve
