// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "plugins/shared/io/http/server/daemon.h"
#include "plugins/sources/receive/request.h"

namespace atalaya::receive {

struct ServerOptions {
  http_server::Options http;
  size_t max_body = size_t{16} << 20;     // maximum bytes of a body as it is sent
  size_t max_waiting = size_t{64} << 20;  // bytes of all bodies in memory; one sender may use half of it
  bool influx = false, otlp = false;      // accept these protocols
};

// Receives HTTP requests within limits and forwards the complete ones to `receive`, which answers them.
class Server final : private http_server::Handler {
 public:
  // Called on connection threads with a complete request, whose connection then waits. Returns an answer to refuse the request.
  using Receive = std::function<std::optional<Answer>(const std::shared_ptr<Request> &)>;

  // Called before the body is read. Sets the sender of the request, or returns an answer to refuse it.
  using Admit = std::function<std::optional<Answer>(Request &, std::string_view address)>;

  // Called with the status of each answer.
  using Answered = std::function<void(const Request &, unsigned status)>;

  Server(const ServerOptions &options, http_server::Tokens *tokens, Admit admit, Receive receive, Answered answered,
         http_server::Daemon::Notice notice);

  void start(http_server::Listener listener) { daemon_.start(std::move(listener)); }
  // Refuses new connections; existing ones continue.
  void quiesce() { daemon_.quiesce(); }
  // Closes all connections after a short time in which they send their answers. Every request must be answered before.
  void stop() { daemon_.stop(); }

  // Releases the bytes of a request whose body is no longer needed.
  void release(Request &request) { release(*request.sender, request.body.size()); }

 private:
  struct Call;

  MHD_Result on_request(MHD_Connection *connection, const char *url, const char *method, const char *data, size_t *size,
                        void **context) override;
  void on_completed(void *context) noexcept override;

  MHD_Result begin(MHD_Connection *connection, const char *url, const char *method, void **context);
  Answer check(MHD_Connection *connection, std::string_view url, std::string_view method, Call &call);
  void release(Sender &sender, size_t bytes);
  void append_body(Call &call, std::string_view data);
  MHD_Result forward(MHD_Connection *connection, Call &call);
  MHD_Result send(MHD_Connection *connection, const Call &call, const Answer &answer);

  const ServerOptions options_;
  const Admit admit_;
  const Receive receive_;
  const Answered answered_;
  std::atomic<size_t> body_bytes_{0};  // bytes of all bodies in memory
  http_server::Daemon daemon_;         // declared last, because its threads use all members above
};

}  // namespace atalaya::receive
