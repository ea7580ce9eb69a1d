// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <microhttpd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>
#include <unordered_set>

#include "plugins/shared/http/server/listen.h"
#include "plugins/shared/http/server/options.h"
#include "plugins/shared/http/server/tokens.h"

namespace atalaya::http_server {

// The value of a request's header; empty when it has none.
std::string_view header(MHD_Connection *connection, const char *name);

// Answers requests. Threads of connections; what leaves as an exception ends the connection.
class Handler {
 public:
  Handler() = default;
  Handler(const Handler &) = delete;
  Handler &operator=(const Handler &) = delete;
  virtual ~Handler() = default;

  // As libmicrohttpd calls it: first with *context null, then with pieces of the body, then with none.
  virtual MHD_Result on_request(MHD_Connection *connection, const char *url, const char *method, const char *data, size_t *size,
                                void **context) = 0;
  // The request is over, answered or not; *context was set.
  virtual void on_completed(void *context) noexcept = 0;
};

// HTTP over libmicrohttpd: a few threads with epoll. Everything that a stranger can do to a connection ends at a limit here.
class Daemon {
 public:
  using Notice = std::function<void(std::string_view)>;  // for the operator; any thread

  Daemon(const Options &options, Tokens *tokens, Handler &handler, Notice notice);
  Daemon(const Daemon &) = delete;
  Daemon &operator=(const Daemon &) = delete;
  ~Daemon();

  void start(Listener listener);
  // No new connections. Those that are there go on.
  void quiesce();
  // Ends all connections. Requests that have been answered get a moment for their answer to be sent.
  void stop();

  // Its request is complete and waits for us: no limit of time holds.
  static void waits(MHD_Connection *connection);
  // What it waited for is being sent: its time begins.
  static void answers(MHD_Connection *connection);
  // The header Authorization shows one of the tokens, or none is asked for.
  bool allows(MHD_Connection *connection) const;
  // Adds what the answer 401 must say.
  static void ask_for_token(MHD_Response *response);

 private:
  struct Connection;

  static MHD_Result on_request(void *self, MHD_Connection *connection, const char *url, const char *method, const char *version,
                               const char *data, size_t *size, void **context);
  static void on_completed(void *self, MHD_Connection *connection, void **context, MHD_RequestTerminationCode why);
  static void on_connection(void *self, MHD_Connection *connection, void **context, MHD_ConnectionNotificationCode what);
  static Connection &connection_of(MHD_Connection *connection);

  void watch();
  void cut_slow(int64_t now);
  void wait_for_answers();

  const Options options_;
  Tokens *const tokens_;
  Handler &handler_;
  const Notice notice_;
  MHD_Daemon *daemon_ = nullptr;
  int listener_ = -1;  // ours again after quiesce

  std::mutex mutex_;
  std::condition_variable wake_;
  std::unordered_set<Connection *> connections_;
  bool stopping_ = false;
  std::thread watcher_;
};

}  // namespace atalaya::http_server
