// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "plugins/commands/serve/request.h"
#include "plugins/shared/http/server/daemon.h"

namespace atalaya::serve {

struct ServerOptions {
  http_server::Options http;
  size_t max_body = size_t{1} << 20;
  size_t max_waiting = 256;  // requests that wait for a worker
  unsigned workers = 4;
  size_t max_answers = size_t{256} << 20;  // bytes that clients have not read yet; a single answer may be larger
  // The answer to a request that needs no token and no worker; nothing for others.
  std::function<std::optional<Answer>(const Request &)> open = [](const Request &) { return std::optional<Answer>(); };
};

// Queues requests for a few workers; each worker answers with its result of `make`.
class Server final : private http_server::Handler {
 public:
  using Work = std::function<Answer(const Request &)>;

  Server(const ServerOptions &options, http_server::Tokens *tokens, std::function<Work()> make, http_server::Daemon::Notice notice);
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
  static MHD_Result send(MHD_Connection *connection, const Answer &answer);  // the answer lives as long as its call
  void work(const Work &work);

  const ServerOptions options_;
  const std::function<Work()> make_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Call *> waiting_;
  bool stopping_ = false;
  size_t held_ = 0;  // bytes of answers
  std::vector<std::thread> workers_;
  http_server::Daemon daemon_;  // last: its threads use the other members
};

}  // namespace atalaya::serve
