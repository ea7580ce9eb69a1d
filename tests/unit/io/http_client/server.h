// SPDX-License-Identifier: Apache-2.0
// A server on loopback with the responses that a test sets.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace atalaya::http_client::testing {

struct Asked {
  std::string head;  // with the line of the request
  std::string body;

  bool has(const std::string &text) const { return (head + body).find(text) != std::string::npos; }
};

inline std::string answer(const std::string &status, const std::string &body = {}) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// One connection at a time, kept alive.
class Server {
 public:
  using Script = std::function<std::string(const Asked &)>;  // the whole answer

  explicit Server(Script script) : script_(std::move(script)), socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (::bind(socket_, reinterpret_cast<sockaddr *>(&address), size) != 0 || ::listen(socket_, 8) != 0)
      throw std::runtime_error("bind");
    ::getsockname(socket_, reinterpret_cast<sockaddr *>(&address), &size);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { work(); });
  }
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;
  // The client is gone by then.
  ~Server() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }

  std::vector<Asked> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  uint16_t port = 0;

 private:
  void work() {
    for (;;) {
      const int client = ::accept(socket_, nullptr, nullptr);
      if (client < 0) return;
      serve(client);
      ::close(client);
    }
  }
  void serve(int client) {
    std::string text;
    std::vector<char> piece(1 << 16);
    for (;;) {
      const ssize_t got = ::recv(client, piece.data(), piece.size(), 0);
      if (got <= 0) return;
      text.append(piece.data(), static_cast<size_t>(got));
      const size_t head = text.find("\r\n\r\n");
      if (head == std::string::npos) continue;
      const size_t length = text.find("Content-Length: ");
      const size_t body = length < head ? std::stoul(text.substr(length + 16)) : 0;
      if (text.size() < head + 4 + body) continue;
      const std::string said = respond({text.substr(0, head), text.substr(head + 4)});
      text.clear();
      if (::send(client, said.data(), said.size(), MSG_NOSIGNAL) < 0 || said.find("Connection: close") != std::string::npos) return;
    }
  }
  std::string respond(Asked asked) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(std::move(asked));
    return script_(asked_.back());
  }

  Script script_;
  int socket_;
  mutable std::mutex mutex_;
  std::vector<Asked> asked_;
  std::thread thread_;
};

}  // namespace atalaya::http_client::testing
