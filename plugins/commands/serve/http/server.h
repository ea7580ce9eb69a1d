// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "plugins/commands/serve/http/fair_queue.h"
#include "plugins/commands/serve/http/request.h"
#include "plugins/shared/io/http/server/daemon.h"

namespace atalaya::serve {

struct ServerOptions {
  http_server::Options http;
  size_t max_body = size_t{1} << 20;
  size_t max_waiting = 256;  // maximum requests that wait for a worker
  unsigned workers = 4;
  size_t max_answers = size_t{256} << 20;  // maximum bytes of answers in memory; a single answer may be larger
  // Answers a request that needs neither token nor worker; returns nothing for other requests.
  std::function<std::optional<Answer>(const Request &)> open = [](const Request &) { return std::optional<Answer>(); };
  // Whether the request changes stored data.
  std::function<bool(const Request &)> writes = [](const Request &) { return false; };
};

// The interface of a worker; called on the worker's thread.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual Answer answer(const Request &request) = 0;
  // Returns the next part of an answer that another worker may have started; "" at the end. Throws if it cannot be produced.
  virtual std::string next_part(AnswerRest &rest) = 0;
};

// Queues requests for a few workers. A worker produces a part of a large answer when the client has read the previous part: a slow
// client uses memory for one part, and no worker. Clients take turns; a client is an address and a program (User-Agent). A request
// whose client has left is cancelled.
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

  // Returns an answer that needs no worker: a refusal, or a page that needs no token.
  std::optional<Answer> immediate(MHD_Connection *connection, const Request &request) const;
  MHD_Result finish(MHD_Connection *connection, Call &call);
  MHD_Result send(MHD_Connection *connection, Call &call);
  MHD_Response *make_response(Call &call);
  // Callback of libmicrohttpd that reads an answer in parts.
  static ssize_t read_part(void *call, uint64_t position, char *to, size_t size);
  ssize_t copy_part(Call &call, char *to, size_t size);
  void wait_for_worker(Call &call);
  void work();
  void start_answer(Worker &worker, Call &call, std::unique_lock<std::mutex> &lock);
  void continue_answer(Worker &worker, Call &call, std::unique_lock<std::mutex> &lock);
  void set_queued_bytes(Call &call, size_t bytes);
  void abort_answer(Call &call, std::string_view why);

  const ServerOptions options_;
  const MakeWorker make_;
  const http_server::Daemon::Notice notice_;
  std::mutex mutex_;
  std::condition_variable wake_;
  FairQueue<Call *> waiting_;
  bool stopping_ = false;
  size_t queued_bytes_ = 0;  // bytes of answers
  std::vector<std::thread> workers_;
  http_server::Daemon daemon_;  // declared last, because its threads use the other members
};

}  // namespace atalaya::serve
