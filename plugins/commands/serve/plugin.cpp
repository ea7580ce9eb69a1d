// SPDX-License-Identifier: Apache-2.0
// Command serve: the store over HTTP, as OpenTSDB, Prometheus and the reference design's services answer.
#include <atalaya/plugin.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "plugins/commands/serve/api.h"
#include "plugins/commands/serve/server.h"
#include "plugins/shared/http/server/params.h"
#include "plugins/shared/analysis/query/options.h"

namespace atalaya::serve {
namespace {

using namespace atalaya::literals;

class Serve final : public Command {
 public:
  static constexpr Param params[] = {
      {.name = "listen"_str,
       .type = ATALAYA_STRING,
       .default_text = "127.0.0.1:8080"_str,
       .unit = "HOST:PORT"_str,
       .summary = "Where it listens; port 0 takes a free one."_str},
      query::kStore,
      {.name = "tokens"_str,
       .type = ATALAYA_STRING,
       .unit = "FILE"_str,
       .summary =
           "A file with a secret a line, one of which each request has to show; needed when other hosts reach the server."_str},
      http_server::kCertificate,
      http_server::kKey,
      {.name = "max_connections"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "1000"_str,
       .summary = "Connections at a time."_str,
       .min = 1,
       .max = 1e6},
      {.name = "workers"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "4"_str,
       .summary = "Questions that are answered at a time; the others wait."_str,
       .min = 1,
       .max = 64},
      http_server::kMaxHeader,
      http_server::kRequestTimeout,
      http_server::kIdleTimeout,
      query::kMaxPoints,
      query::kTimeout,
  };
  static constexpr Description description = {
      .name = "serve"_str,
      .summary = "the store over HTTP: OpenTSDB's and Prometheus' questions, stacks, experiments"_str,
      .params = params,
      .example = "atalaya serve --listen 127.0.0.1:8080"_str};

  explicit Serve(Host host)
      : host_(host), read_(query::read_options(host)), address_(http_server::parse_address(host.text("listen"))) {
    options_.http = http_server::read_options(host);
    options_.workers = static_cast<unsigned>(host.integer("workers"));
    tls_ = http_server::read_tls_files(host);
    if (const auto path = host.find("tokens")) token_file_ = path->text();
  }

  int run(std::span<const atalaya_str>) override {
    return query::answered([&] {
      store::open_store(read_.store, std::chrono::nanoseconds(read_.limits.time_ns));  // what is wrong with it is said now
      if (!token_file_.empty()) tokens_ = std::make_unique<http_server::Tokens>(token_file_);
      http_server::load_tls(tls_, options_.http);
      http_server::Listener listener = http_server::open_listener(address_);
      if (listener.reachable && !tokens_)
        throw Failure(Code::bad_config,
                      "other hosts would reach " + listener.name + ": name a file with --tokens, or listen on 127.0.0.1");
      options_.local = !listener.reachable && !tokens_;
      serve(std::move(listener));
      return 0;
    });
  }

  void interrupt() noexcept {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }

 private:
  void serve(http_server::Listener listener) {
    const std::string name = listener.name;
    Server server(
        options_, tokens_.get(),
        [this] {
          auto api = std::make_shared<Api>(host_, read_.store, read_.limits);
          return [api](const Request &request) { return api->answer(request); };
        },
        [host = host_](std::string_view text) { host.log(Level::warning, text); });
    server.start(std::move(listener));
    host_.log(Level::info, "serving on " + name + (options_.http.certificate.empty() ? "" : " (TLS)"));
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return stopping_; });
  }

  Host host_;
  const query::ReadOptions read_;
  const http_server::Address address_;
  http_server::TlsFiles tls_;
  std::string token_file_;
  std::unique_ptr<http_server::Tokens> tokens_;
  ServerOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
};

}  // namespace
}  // namespace atalaya::serve

ATALAYA_PLUGIN("serve", "0.1.0", "command serve", atalaya::serve::Serve)
