// SPDX-License-Identifier: Apache-2.0
// Command serve: the store over HTTP, with the APIs of OpenTSDB, Prometheus and the reference design's services.
#include <atalaya/plugin.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/file_state.h"
#include "core/base/files.h"
#include "plugins/commands/serve/http/api.h"
#include "plugins/commands/serve/http/server.h"
#include "plugins/commands/serve/mcp/mcp.h"
#include "plugins/commands/serve/mcp/mcp_stdio.h"
#include "plugins/commands/serve/page/page.h"
#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/io/http/server/params.h"

namespace atalaya::serve {
namespace {

using namespace atalaya::literals;

// " (open http://127.0.0.1:8080/ in a browser)", if there is a page.
std::string page_text(const char *scheme, const std::string &name) {
  return has_page() ? " (open " + (scheme + name) + "/ in a browser)" : "";
}

class ApiWorker final : public Worker {
 public:
  template <class... Arguments>
  explicit ApiWorker(const Arguments &...arguments) : api_(arguments...) {}
  Answer answer(const Request &request) override { return api_.answer(request); }
  std::string next_part(AnswerRest &rest) override { return api_.next_part(rest); }

 private:
  Api api_;
};

constexpr auto kCheckFiles = std::chrono::seconds(1);

class Serve final : public Command {
 public:
  static constexpr Param params[] = {
      param::string("listen", "Address to listen on; port 0 selects a free port").defaults("127.0.0.1:8080").unit("HOST:PORT"),
      command_line::kStores,
      param::string("tokens",
                    "File with one bearer token per line; a request must carry one of them. "
                    "Required if other hosts can reach the server")
          .unit("FILE"),
      param::string("socket", "Status socket of the agent, for the page (default: status.sock in the runtime folder)").unit("PATH"),
      http_server::kCertificate,
      http_server::kKey,
      param::boolean("mcp", "Answer messages of the Model Context Protocol on standard input and output, instead of HTTP")
          .defaults("false"),
      param::integer("max_connections", "Maximum connections").defaults("1000").range(1, 1e6),
      param::integer("workers", "Maximum requests that run at a time; others wait").defaults("4").range(1, 64),
      param::size("max_answers",
                  "Maximum size of the answers, or parts of large ones, that clients have not read; further large ones are refused")
          .defaults("256 MiB")
          .range(1 << 20, 1e12),
      http_server::kMaxHeader,
      http_server::kRequestTimeout,
      http_server::kIdleTimeout,
      command_line::kMaxPoints,
      command_line::kTimeout,
  };
  static constexpr Description description = {.name = "serve"_str,
                                              .summary = "Serve the store over HTTP: OpenTSDB and Prometheus queries"_str,
                                              .params = params,
                                              .example =
                                                  "atalaya serve\n"
                                                  "atalaya serve --mcp --store ./atalaya.db\n"
                                                  "atalaya serve --listen 0.0.0.0:8080 --tokens /etc/atalaya/tokens"_str};

  explicit Serve(Host host)
      : host_(host), read_(command_line::read_options(host)), address_(http_server::parse_address(host.text("listen"))) {
    options_.http = http_server::read_options(host);
    options_.max_answers = static_cast<size_t>(host.integer("max_answers"));
    options_.open = page_answer;
    options_.writes = Api::writes;
    options_.workers = static_cast<unsigned>(host.integer("workers"));
    mcp_ = host.boolean("mcp");
    tls_ = http_server::read_tls_files(host);
    if (const auto path = host.find("tokens")) token_file_ = path->text();
    if (const auto path = host.find("socket")) socket_ = path->text();
  }

  int run(std::span<const atalaya_str>) override {
    return command_line::with_failures([&] {
      store::open_store(read_.stores, std::chrono::nanoseconds(read_.limits.time_ns));  // reports errors of the store now
      if (mcp_) return answer_messages();
      if (!token_file_.empty()) tokens_ = std::make_unique<http_server::Tokens>(token_file_);
      tls_state_ = state_of_tls();
      http_server::load_tls(tls_, options_.http);
      http_server::Listener listener = http_server::open_listener(address_);
      if (listener.reachable && !tokens_)
        throw Failure(Code::bad_config, "other hosts can reach " + listener.name + ": add --tokens FILE, or listen on 127.0.0.1");
      const http_server::Address address = http_server::parse_address(listener.name);  // with the port that was selected
      for (;;) {
        serve(std::move(listener));
        if (is_stopping()) return 0;
        listener = http_server::open_listener(address);
      }
    });
  }

  void interrupt() noexcept {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
    ::eventfd_write(stop_.get(), 1);
  }

 private:
  int answer_messages() {
    Api api(host_, read_.stores, socket_, read_.limits);
    serve_messages(STDIN_FILENO, STDOUT_FILENO, stop_.get(), mcp_refusal("a message has at most 1 MiB"),
                   [&](const std::string &message) { return api.message(message); });
    return 0;
  }
  void serve(http_server::Listener listener) {
    const std::string name = listener.name;
    Server server(
        options_, tokens_.get(),
        [this]() -> std::unique_ptr<Worker> { return std::make_unique<ApiWorker>(host_, read_.stores, socket_, read_.limits); },
        [host = host_](std::string_view text) { host.log(Level::warning, text); });
    server.start(std::move(listener));
    const bool tls = !options_.http.certificate.empty();
    host_.log(Level::info, "serving on " + name + (tls ? " (TLS)" : "") + page_text(tls ? "https://" : "http://", name));
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kCheckFiles, [this] { return stopping_; }) && !has_new_certificate()) {
    }
  }
  // Returns whether the files of the certificate were changed and are valid.
  bool has_new_certificate() {
    const std::string state = state_of_tls();
    if (state == tls_state_) return false;
    tls_state_ = state;
    try {
      http_server::load_tls(tls_, options_.http);
    } catch (const Failure &problem) {
      host_.log(Level::warning, std::string(problem.what()) + "; the previous certificate is still served");
      return false;
    }
    host_.log(Level::info, "the certificate was changed; it is read again");
    return true;
  }
  std::string state_of_tls() const {
    return tls_.certificate.empty() ? "" : core::file_state(tls_.certificate) + core::file_state(tls_.key);
  }
  bool is_stopping() {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }

  Host host_;
  const command_line::ReadOptions read_;
  const http_server::Address address_;
  http_server::TlsFiles tls_;
  std::string tls_state_;  // of the files when they were read
  std::string token_file_, socket_;
  std::unique_ptr<http_server::Tokens> tokens_;
  ServerOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  core::Descriptor stop_{::eventfd(0, EFD_CLOEXEC)};  // ends the loop of MCP messages
  bool mcp_ = false, stopping_ = false;
};

}  // namespace
}  // namespace atalaya::serve

ATALAYA_PLUGIN("serve", "0.1.0", "command serve", atalaya::serve::Serve)
