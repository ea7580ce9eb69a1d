// SPDX-License-Identifier: Apache-2.0
#include <atalaya/plugin.hpp>

#include <memory>
#include <utility>

#include "core/base/text.h"
#include "plugins/shared/http/server/params.h"
#include "plugins/shared/match/patterns.h"
#include "plugins/sinks/prometheus/scrape_server.h"

namespace atalaya::prometheus {
namespace {

constexpr Param kPattern[] = {{.name = "name"_str, .type = ATALAYA_STRING, .summary = "A pattern."_str}};

// The latest values, for a server that comes and fetches them.
class Prometheus final : public Sink {
 public:
  static constexpr Param params[] = {
      {.name = "listen"_str,
       .type = ATALAYA_STRING,
       .default_text = "127.0.0.1:9464"_str,
       .summary = "Address and port: 127.0.0.1:9464, [::1]:9464, *:9464 for all addresses; port 0 takes any free one."_str},
      {.name = "path"_str, .type = ATALAYA_STRING, .default_text = "/metrics"_str, .summary = "Where the metrics are."_str},
      {.name = "tokens"_str,
       .type = ATALAYA_STRING,
       .summary =
           "File with the secrets of which scrapers must show one, one a line, read again when it changes; absent: none is asked for."_str},
      http_server::kOpen,
      http_server::kCertificate,
      http_server::kKey,
      {.name = "counters"_str,
       .type = ATALAYA_LIST,
       .summary =
           "Patterns of the metrics that only ever rise; they are exposed as counters, with _total. All others are of unknown type."_str,
       .items = kPattern,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "timestamps"_str,
       .type = ATALAYA_BOOL,
       .default_text = "false"_str,
       .summary = "Exposes when each value was taken; Prometheus then does not notice when a series ends."_str},
      {.name = "stale"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "3"_str,
       .unit = "windows"_str,
       .summary =
           "Values vanish when their source is silent for so many of its windows; a series that its source leaves out, at once."_str,
       .min = 1,
       .max = 1000},
      {.name = "max_age"_str,
       .type = ATALAYA_DURATION,
       .flags = ATALAYA_BOUNDED,
       .default_text = "5m"_str,
       .summary = "The longest that a value is shown, and the oldest that is taken."_str,
       .min = 1e9,
       .max = 8.64e13},
      {.name = "max_series"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "100000"_str,
       .unit = "series"_str,
       .summary = "Series that are kept; further ones are dropped until others vanish."_str,
       .min = 1,
       .max = 1e7},
      {.name = "max_memory"_str,
       .type = ATALAYA_SIZE,
       .flags = ATALAYA_BOUNDED,
       .default_text = "128 MiB"_str,
       .summary = "Room for series and their labels; further ones are dropped until others vanish."_str,
       .min = 65536,
       .max = 1e12},
      {.name = "max_connections"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "16"_str,
       .unit = "connections"_str,
       .summary = "Connections beyond it wait until one is free; the limit of open files may set a lower one."_str,
       .min = 1,
       .max = 10000},
      http_server::kMaxHeader,
      http_server::kRequestTimeout,
      http_server::kIdleTimeout,
  };
  static constexpr Description description = {
      .name = "prometheus"_str,
      .summary = "shows the latest values to Prometheus and all that speak its text format or OpenMetrics"_str,
      .params = params};

  explicit Prometheus(Host host)
      : host_(host), address_(http_server::parse_address(host.text("listen"))), counters_(read_patterns(host, "counters")) {
    options_.http = http_server::read_options(host);
    options_.http.threads = 1;
    tls_ = http_server::read_tls_files(host);
    options_.path = host.text("path");
    if (!options_.path.starts_with('/')) throw Failure(Code::bad_config, "path begins with /, such as /metrics");
    options_.timestamps = host.boolean("timestamps");
    options_.patience = {.windows = host.integer("stale"), .max_age_ns = host.integer("max_age")};
    const TableOptions table{.max_series = static_cast<size_t>(host.integer("max_series")),
                             .max_bytes = static_cast<size_t>(host.integer("max_memory")),
                             .patience = options_.patience};
    table_ = std::make_unique<SeriesTable>(
        table, [host](uint32_t id) { return host.name_of(id); },
        [this](std::string_view name) { return !counters_.empty() && counters_.matches(name); });
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
    if (refused[static_cast<size_t>(Refusal::full)] > 0 && !std::exchange(told_full_, true))
      host_.log(Level::warning,
                "max_series or max_memory is reached: new series are dropped until others vanish; raise it, or send fewer "
                "(translate.aggregate, filter.top)");
    for (const auto &[second, first] : table_->collisions())
      host_.log(Level::warning, "metrics " + core::in_quotes(first) + " and " + core::in_quotes(second) +
                                    " would have the same name for Prometheus; the second is dropped");
    return Code::ok;
  }

  // What was written is exposed.
  Code flush(int64_t /*deadline_ns*/) override { return Code::ok; }

 private:
  const Host host_;
  const http_server::Address address_;
  core::MatcherList counters_;
  http_server::TlsFiles tls_;
  ServerOptions options_;
  bool told_full_ = false;
  std::unique_ptr<SeriesTable> table_;
  std::unique_ptr<http_server::Tokens> tokens_;
  std::unique_ptr<ScrapeServer> server_;
};

}  // namespace
}  // namespace atalaya::prometheus

ATALAYA_PLUGIN("prometheus", "0.1.0", "sink prometheus", atalaya::prometheus::Prometheus)
