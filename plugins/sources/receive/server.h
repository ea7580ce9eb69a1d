// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <microhttpd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>

#include "plugins/sources/receive/listen.h"
#include "plugins/sources/receive/request.h"
#include "plugins/sources/receive/tokens.h"

namespace atalaya::receive {

struct ServerOptions {
  unsigned threads = 2;
  unsigned max_connections = 10000;
  size_t max_header = size_t{16} << 10;
  size_t max_body = size_t{16} << 20;     // as sent
  size_t max_waiting = size_t{64} << 20;  // bodies of all requests together
  int64_t request_timeout_ns = 30'000'000'000;
  int64_t idle_timeout_ns = 300'000'000'000;
  std::string certificate, key;  // PEM texts; empty: no TLS
};

// HTTP over libmicrohttpd: a few threads with epoll. It gathers bodies within limits and hands them on; who has a request answers
// it. Everything that a stranger can do to a connection ends at a limit here.
class Server {
 public:
  // Connection threads. The request is complete and its connection waits. The answer, when it is refused at once.
  using Take = std::function<std::optional<Answer>(const std::shared_ptr<Request> &)>;
  using Notice = std::function<void(std::string_view)>;  // for the operator; any thread

  Server(const ServerOptions &options, Tokens *tokens, Take take, Notice notice);
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;
  ~Server();

  void start(Listener listener);
  // No new connections. Those that are there go on.
  void quiesce();
  // Ends all connections. Every request has been answered before, and gets a moment for its answer to be sent.
  void stop();

  // What a request held, when its body is no longer needed.
  void release(size_t bytes) { held_ -= bytes; }

 private:
  struct Connection;
  struct Call;

  static MHD_Result on_request(void *self, MHD_Connection *connection, const char *url, const char *method, const char *version,
                               const char *data, size_t *size, void **context);
  static void on_completed(void *self, MHD_Connection *connection, void **context, MHD_RequestTerminationCode why);
  static void on_connection(void *self, MHD_Connection *connection, void **context, MHD_ConnectionNotificationCode what);

  MHD_Result begin(MHD_Connection *connection, const char *url, const char *method, void **context);
  Answer check(MHD_Connection *connection, std::string_view url, std::string_view method, Call &call);
  void gather(Call &call, std::string_view data);
  MHD_Result hand_on(MHD_Connection *connection, Call &call);
  static MHD_Result send(MHD_Connection *connection, const Answer &answer);
  void watch();
  void cut_slow(int64_t now);
  void wait_for_answers();

  const ServerOptions options_;
  Tokens *const tokens_;
  const Take take_;
  const Notice notice_;
  MHD_Daemon *daemon_ = nullptr;
  int listener_ = -1;  // ours again after quiesce
  std::atomic<size_t> held_{0};

  std::mutex mutex_;
  std::condition_variable wake_;
  std::unordered_set<Connection *> connections_;
  bool stopping_ = false;
  std::thread watcher_;
};

}  // namespace atalaya::receive
