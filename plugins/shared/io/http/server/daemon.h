// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <microhttpd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <unordered_set>

#include "plugins/shared/io/http/server/listen.h"
#include "plugins/shared/io/http/server/options.h"
#include "plugins/shared/io/http/server/tokens.h"

namespace atalaya::http_server {

// The value of a request header; empty if it is missing.
std::string_view header(MHD_Connection *connection, const char *name);

// Answers requests. Its functions are called on the daemon's threads; an exception closes the connection.
class Handler {
 public:
  Handler() = default;
  Handler(const Handler &) = delete;
  Handler &operator=(const Handler &) = delete;
  virtual ~Handler() = default;

  // Called by libmicrohttpd: first with *context null, then with pieces of the body, then with an empty piece.
  virtual MHD_Result on_request(MHD_Connection *connection, const char *url, const char *method, const char *data, size_t *size,
                                void **context) = 0;
  // The request has ended, with or without an answer; *context was set.
  virtual void on_completed(void *context) noexcept = 0;
};

// An HTTP server: libmicrohttpd with a few epoll threads. Limits every resource that a client can use.
class Daemon {
 public:
  using Notice = std::function<void(std::string_view)>;  // logs a message for the operator; any thread

  Daemon(const Options &options, Tokens *tokens, Handler &handler, Notice notice);
  Daemon(const Daemon &) = delete;
  Daemon &operator=(const Daemon &) = delete;
  ~Daemon();

  void start(Listener listener);
  // Refuses new connections; existing ones continue.
  void quiesce();
  // Closes all connections, after a short time for the delivery of answers.
  void stop();

  // Stops the time limit of a request: it is complete and waits for this process.
  static void stop_time_limit(MHD_Connection *connection);
  // Starts the time limit of an answer, which is being sent.
  static void start_time_limit(MHD_Connection *connection);
  // Becomes true when the client closes the connection while its request waits for this process. Exists as long as the connection.
  static const std::atomic<bool> &client_left(MHD_Connection *connection);
  static int socket_of(MHD_Connection *connection);
  // The reason to refuse a request. 400: its body has two lengths, so that a proxy may read another request in it (request
  // smuggling). 401: no valid token. 403: a page of another site made a browser send it (cross-site request).
  struct Refusal {
    unsigned status;
    const char *why;
  };
  std::optional<Refusal> refusal(MHD_Connection *connection, std::string_view method, bool needs_token = true) const;
  // The reason to refuse a request that changes stored data: without tokens only the user of this process, and root, may send it.
  std::optional<Refusal> refusal_to_write(MHD_Connection *connection) const;
  // Adds the required headers of a refusal.
  static void add_headers(MHD_Response *response, unsigned status);

 private:
  struct Connection;

  static MHD_Result on_request(void *self, MHD_Connection *connection, const char *url, const char *method, const char *version,
                               const char *data, size_t *size, void **context);
  static void on_completed(void *self, MHD_Connection *connection, void **context, MHD_RequestTerminationCode why);
  static void on_connection(void *self, MHD_Connection *connection, void **context, MHD_ConnectionNotificationCode event);
  static Connection &connection_of(MHD_Connection *connection);

  void watch();
  void close_slow(int64_t now);
  void find_disconnected_clients();
  void wait_for_answers();

  const Options options_;
  Tokens *const tokens_;
  Handler &handler_;
  const Notice notice_;
  MHD_Daemon *daemon_ = nullptr;
  core::Descriptor quiet_listener_;  // the listening socket after quiesce
  bool local_ = false;               // the address is reachable only from this host, and no token is needed

  std::mutex mutex_;
  std::condition_variable wake_;
  std::unordered_set<Connection *> connections_;
  bool stopping_ = false;
  std::thread watcher_;
};

}  // namespace atalaya::http_server
