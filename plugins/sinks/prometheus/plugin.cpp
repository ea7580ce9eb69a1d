// SPDX-License-Identifier: Apache-2.0
#include <atalaya/plugin.hpp>

#include <memory>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/io/http/server/params.h"
#include "plugins/sinks/prometheus/scrape_server.h"

namespace atalaya::prometheus {
namespace {

// The sink "prometheus": stores the latest values for servers that scrape them.
class Prometheus final : public Sink {
 public:
  static constexpr Param params[] = {
      param::string("listen", "Address and port: 127.0.0.1:9464, [::1]:9464, *:9464 for all addresses; port 0 takes any free one")
          .defaults("127.0.0.1:9464"),
      param::string("path", "Path of the metrics").defaults("/metrics"),
      param::string("tokens",
                    "File of tokens, one per line; scrapers must show one; read again when it changes (default: no tokens)")
          .unit("secret file"),
      http_server::kOpen,
      http_server::kCertificate,
      http_server::kKey,
      param::boolean("timestamps", "Expose the time of each value; Prometheus then does not notice the end of a series")
          .defaults("false"),
      param::integer("stale",
                     "Values vanish after this many windows without a sample of their source; a series that its source leaves "
                     "out vanishes at once")
          .defaults("3")
          .range(1, 1000)
          .unit("windows"),
      param::duration("max_age", "Maximum age of values that are shown and accepted").defaults("5m").range(1e9, 8.64e13),
      param::integer("max_series", "Maximum number of series; more are dropped until others vanish")
          .defaults("100000")
          .range(1, 1e7)
          .unit("series"),
      param::size("max_memory", "Maximum memory of series and labels; more are dropped until others vanish")
          .defaults("128 MiB")
          .range(65536, 1e12),
      param::integer("max_connections", "Maximum number of connections; more wait. The limit of open files may set a lower one")
          .defaults("16")
          .range(1, 10000)
          .unit("connections"),
      http_server::kMaxHeader,
      http_server::kRequestTimeout,
      http_server::kIdleTimeout,
  };
  static constexpr Description description = {
      .name = "prometheus"_str, .summary = "Expose the latest values to Prometheus and OpenMetrics scrapers"_str, .params = params};

  explicit Prometheus(Host host) : host_(host), address_(http_server::parse_address(host.text("listen"))) {
    options_.http = http_server::read_options(host);
    options_.http.threads = 1;
    tls_ = http_server::read_tls_files(host);
    http_server::load_tls(tls_, options_.http);
    options_.path = host.text("path");
    if (!options_.path.starts_with('/')) throw Failure(Code::bad_config, "parameter path must begin with /, such as /metrics");
    options_.timestamps = host.boolean("timestamps");
    options_.staleness = {.windows = host.integer("stale"), .max_age_ns = host.integer("max_age")};
    const TableOptions table{.max_series = static_cast<size_t>(host.integer("max_series")),
                             .max_bytes = static_cast<size_t>(host.integer("max_memory")),
                             .staleness = options_.staleness};
    table_ = std::make_unique<SeriesTable>(
        table, [host](uint32_t id) { return host.name_of(id); }, [host](uint32_t id) { return host.metric(id); });
  }

  void start() override {
    if (server_) return;
    if (const auto path = host_.find("tokens")) tokens_ = std::make_unique<http_server::Tokens>(std::string(path->text()));
    http_server::load_tls(tls_, options_.http);
    http_server::Listener listener = http_server::open_listener(address_);
    const std::string name = listener.name;
    http_server::check_reach(listener, tokens_ != nullptr, host_.boolean("open"));
    server_ = std::make_unique<ScrapeServer>(options_, *table_, host_, tokens_.get());
    try {
      server_->start(std::move(listener));
    } catch (...) {
      server_.reset();
      throw;
    }
    host_.log(Level::info, "listening on " + name + (options_.http.certificate.empty() ? "" : " (TLS)"));
  }

  void stop() override {
    server_.reset();
    tokens_.reset();
  }

  Code write(std::span<const Sample> samples, int64_t & /*retry_after_ns*/) override {
    const SeriesTable::Refused refused = table_->take(samples, {host_.monotonic(), host_.realtime()});
    for (size_t i = 1; i < refused.size(); ++i) host_.dropped(reason_of(static_cast<Refusal>(i)), refused[i]);
    if (refused[static_cast<size_t>(Refusal::full)] > 0 && !std::exchange(warned_full_, true))
      host_.log(Level::warning,
                "max_series or max_memory is reached: new series are dropped until others vanish; raise the limit, or send fewer "
                "series (translate.aggregate, filter.top)");
    for (const auto &[second, first] : table_->collisions())
      host_.log(Level::warning, "metrics " + core::in_quotes(first) + " and " + core::in_quotes(second) +
                                    " would have the same name for Prometheus; the second is dropped");
    return Code::ok;
  }

  // Nothing is buffered: written values are exposed immediately.
  Code flush(int64_t /*deadline_ns*/) override { return Code::ok; }

 private:
  const Host host_;
  const http_server::Address address_;
  http_server::TlsFiles tls_;
  ServerOptions options_;
  bool warned_full_ = false;
  std::unique_ptr<SeriesTable> table_;
  std::unique_ptr<http_server::Tokens> tokens_;
  std::unique_ptr<ScrapeServer> server_;
};

}  // namespace
}  // namespace atalaya::prometheus

ATALAYA_PLUGIN("prometheus", "0.1.0", "sink prometheus", atalaya::prometheus::Prometheus)
