// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "plugins/commands/serve/http/request.h"
#include "plugins/shared/io/http/server/daemon.h"

namespace atalaya::serve {

struct ServerOptions {
  http_server::Options http;
  size_t max_body = size_t{1} << 20;
  size_t max_waiting = 256;  // requests that wait for a worker
  unsigned workers = 4;
  size_t max_answers = size_t{256} << 20;  // bytes that clients have not read yet; a single one may be larger
  // The answer to a request that needs no token and no worker; nothing for others.
  std::function<std::optional<Answer>(const Request &)> open = [](const Request &) { return std::optional<Answer>(); };
};

// What a worker does, on its thread.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual Answer answer(const Request &request) = 0;
  // The next part of an answer that another worker may have begun; "": the end. Throws if it cannot be produced.
  virtual std::string next_part(AnswerRest &rest) = 0;
};

// Queues requests for a few workers. Of a large answer a worker produces a part when its client has read the one before: a slow
// client holds memory for a part, and no worker.
class Server final : private http_server::Handler {
 public:
  using MakeWorker = std::function<std::unique_ptr<Worker>()>;  // called on its thread

  Server(const ServerOptions &options, http_server::Tokens *tokens, MakeWorker make, http_server::Daemon::Notice notice);
  ~Server() override;

  void start(http_server::Listener listener);
  void stop();

 private:
  struct Call;

  MHD_Result on_request(MHD_Connection *connection, const char *url, const char *method, const char *data, size_t *size,
                        void **context) override;
  void on_completed(void *context) noexcept override;

  // An answer without a worker: a refusal, or what needs no token.
  std::optional<Answer> immediate(MHD_Connection *connection, const Request &request) const;
  MHD_Result finish(MHD_Connection *connection, Call &call);
  MHD_Result send(MHD_Connection *connection, Call &call);
  MHD_Response *make_response(Call &call);
  // libmicrohttpd's reader of an answer in parts.
  static ssize_t read_part(void *call, uint64_t position, char *to, size_t size);
  ssize_t copy_part(Call &call, char *to, size_t size);
  void wait_for_worker(Call &call);
  void work();
  void begin_answer(Worker &worker, Call &call, std::unique_lock<std::mutex> &lock);
  void continue_answer(Worker &worker, Call &call, std::unique_lock<std::mutex> &lock);
  void hold(Call &call, size_t bytes);
  void cut_off(Call &call, std::string_view why);

  const ServerOptions options_;
  const MakeWorker make_;
  const http_server::Daemon::Notice notice_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Call *> waiting_;
  bool stopping_ = false;
  size_t queued_bytes_ = 0;  // bytes of answers
  std::vector<std::thread> workers_;
  http_server::Daemon daemon_;  // last: its threads use the other members
};

}  // namespace atalaya::serve
