// SPDX-License-Identifier: Apache-2.0
// The sinks "http" and "otlp": a batch becomes requests, which several lanes send concurrently.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text/text.h"
#include "plugins/shared/io/http/client/authorization.h"
#include "plugins/shared/io/secret/secret.h"
#include "plugins/shared/io/sink/dead_letters.h"
#include "plugins/shared/io/sink/fingerprint.h"
#include "plugins/shared/io/sink/params.h"
#include "plugins/sinks/http/lane.h"

namespace atalaya::http_sink {
namespace {

using namespace atalaya::literals;

constexpr Param kUrl[] = {param::string("url", "http://HOST:PORT or https://HOST:PORT, with an optional path and query")};
constexpr Param kWeight[] = {param::integer("weight", "Share of the url at the same position").range(0, 1000)};

constexpr Param urls(atalaya_str default_text) {
  return param::list("url", kUrl,
                     "Server, or several: the first that works is used, or all by `weights`. "
                     "The default path depends on the format.")
      .defaults(view(default_text));
}
constexpr Param kWeights =
    param::list("weights", kWeight, "Shares of the series per url; a series stays with its server while that works");
constexpr Param kHealth = param::string(
    "health", "Path, such as /health, that must answer 2xx before a failed server gets data again (default: retry with data)");
constexpr Param kCompress =
    param::choice("compress", "gzip|zstd|none", "Compression of request bodies; zstd is smaller and cheaper, if supported")
        .defaults("gzip");
constexpr Param kLevel = param::integer("level", "Compression level: 1 to 9 for gzip, 1 to 19 for zstd").defaults("3").range(1, 19);
constexpr Param kBatchSize =
    param::size("batch_size", "Maximum size of a request before compression").defaults("4 MiB").range(1024, 1024.0 * 1024 * 1024);
constexpr Param kSenders = param::integer("senders", "Concurrent requests (per url, with weights); each series keeps its order")
                               .defaults("1")
                               .range(1, 64)
                               .unit("requests");
constexpr Param kTimeout =
    io::duration_param("timeout"_str, "5s"_str, "Time limit for connecting, and for the silence of a server"_str);
constexpr Param kRetryMax =
    io::retry_max("Maximum pause between attempts; a Retry-After of the server is honoured up to five minutes"_str);
constexpr Param kDeadLetters = io::dead_letters(
    "Space for points that a server refuses, in dead-letters.jsonl of the state folder; the oldest half is deleted first. "
    "0 B keeps none."_str);
constexpr Param kChunked =
    param::boolean("chunked", "Send chunked bodies without Content-Length; OpenTSDB refuses them").defaults("false");
constexpr Param kBasic = param::string("basic", "File with user:password; read again for every batch").unit("secret file");
constexpr Param kBearer = param::string("bearer", "File with a token; read again for every batch").unit("secret file");
constexpr Param kProxy = param::string("proxy", "http://HOST:PORT of a proxy for all requests");

constexpr Param batch_points(atalaya_str summary) {
  return param::integer("batch_points", view(summary)).defaults("5000").range(1, 1e6).unit("points");
}

// The implementation of both sinks: converts batches to requests of a format.
class RequestSink : public Sink {
 public:
  RequestSink(Host host, const Form &form) : host_(host), dead_letters_(host, host.integer("dead_letters")) {
    options_.form = form;
    read_urls();
    read_lane_options();
    read_connection_options();
    for (const char *name : {"basic", "bearer"})
      if (const auto path = host.find(name)) {
        if (!credentials_.empty()) throw Failure(Code::bad_config, "basic and bearer are exclusive; remove one of them");
        credentials_ = path->text();
        bearer_ = std::string_view(name) == "bearer";
      }
  }

  void start() override {
    if (!lanes_.empty()) return;
    static_cast<void>(authorization());
    if (std::any_of(urls_.begin(), urls_.end(), [](const http_client::Url &url) { return url.tls; }))
      connection_.tls = http_client::tls_context(tls_files());
    targets_.emplace(urls_, weights_, host_.integer("retry_max"));
    deadlines_ = std::make_unique<http_client::Deadlines>();
    const auto senders = static_cast<size_t>(host_.integer("senders"));
    const core::NameOf name_of = [host = host_](uint32_t id) { return host.name_of(id); };
    const protocols::MetricOf metric_of = [host = host_](uint32_t id) { return host.metric(id); };
    // If servers have weights, each server has separate lanes.
    lanes_per_server_ = senders;
    for (size_t i = 0; i < senders * (weights_.empty() ? 1 : urls_.size()); ++i)
      lanes_.push_back(
          std::make_unique<Lane>(options_, name_of, metric_of, *targets_, http_client::Connection(connection_, *deadlines_)));
    shares_.resize(lanes_.size());
    dead_letters_.open();
  }

  void stop() override {
    lanes_.clear();
    deadlines_.reset();
    dead_letters_.close();
    unfinished_.reset();
  }

  Code write(std::span<const Sample> samples, int64_t &retry_after_ns) override {
    if (lanes_.empty()) throw Failure(Code::retry, "the sink is not started");
    try {
      return deliver(samples, retry_after_ns);
    } catch (const Failure &) {
      throw;
    } catch (const std::exception &problem) {  // such as a failure to start a thread: retry the batch
      throw Failure(Code::retry, std::string("cannot send the batch now: ") + problem.what());
    }
  }

  // Nothing is buffered: the server has every batch when write returns.
  Code flush(int64_t /*deadline_ns*/) override { return Code::ok; }

 private:
  Code deliver(std::span<const Sample> samples, int64_t &retry_after_ns) {
    const std::string authorization = this->authorization();
    const bool resumed = unfinished_ && *unfinished_ == io::fingerprint(samples);
    unfinished_.reset();
    if (!resumed) divide(samples);
    std::vector<std::future<bool>> others;
    const auto work = [&](size_t lane) {
      if (!resumed) lanes_[lane]->load(samples, shares_[lane], lane / lanes_per_server_);
      return lanes_[lane]->deliver(samples, authorization);
    };
    for (size_t lane = 1; lane < lanes_.size(); ++lane) others.push_back(std::async(std::launch::async, work, lane));
    bool all = work(0);
    std::string problem = all ? "" : lanes_[0]->problem();
    for (size_t i = 0; i < others.size(); ++i)
      if (!others[i].get()) {
        all = false;
        problem = lanes_[i + 1]->problem();
      }
    if (all) {
      settle();
      return Code::ok;
    }
    unfinished_ = io::fingerprint(samples);
    retry_after_ns = targets_->wait(host_.monotonic());
    throw Failure(Code::retry, problem);
  }

  void read_urls() {
    for (const std::string &text : host_.texts("url"))
      urls_.push_back(http_client::parse_url(text, std::string(options_.form.default_path)));
    if (urls_.empty()) throw Failure(Code::bad_config, "url is empty; set a server: url = \"http://host:port\"");
    for (uint64_t i = 0; const auto weight = host_.child("weights", i); ++i) weights_.push_back(weight->integer());
    if (!weights_.empty() && weights_.size() != urls_.size())
      throw Failure(Code::bad_config, "weights has " + std::to_string(weights_.size()) + " numbers and url has " +
                                          std::to_string(urls_.size()) + " servers; write one weight per url");
    if (!weights_.empty() && std::all_of(weights_.begin(), weights_.end(), [](int64_t weight) { return weight == 0; }))
      throw Failure(Code::bad_config, "all weights are 0; set at least one to 1 or more");
    if (options_.form.format == protocols::Format::influx)
      for (const http_client::Url &url : urls_)
        if (url.target.find("precision=") != std::string::npos && url.target.find("precision=n") == std::string::npos)
          throw Failure(Code::bad_config, "times are sent in ns; remove precision from " + url.text);
  }

  void read_lane_options() {
    options_.compress = host_.text("compress");
    options_.level = static_cast<int>(host_.integer("level"));
    options_.batch_records = static_cast<size_t>(host_.integer("batch_points"));
    options_.batch_bytes = static_cast<size_t>(host_.integer("batch_size"));
    if (const auto rate = host_.find("sample_rate")) options_.sample_rate = rate->integer();
    if (const auto limit = host_.find("max_tags")) options_.tags.max_tags = static_cast<size_t>(limit->integer());
    if (host_.find("drop_tags")) options_.tags.droppable = host_.texts("drop_tags");
    if (const auto path = host_.find("health")) options_.health = path->text();
    if (!options_.health.empty() && options_.health[0] != '/')
      throw Failure(Code::bad_config, "health must be a path that begins with /");
  }

  void read_connection_options() {
    if (const auto chunked = host_.find("chunked")) connection_.chunked = chunked->boolean();
    connection_.timeout = std::chrono::nanoseconds(host_.integer("timeout"));
    connection_.deadline = std::chrono::nanoseconds(host_.integer("deadline"));
    const auto proxy = host_.find("proxy");
    if (!proxy) return;
    const http_client::Url url = http_client::parse_url(std::string(proxy->text()), "/");
    if (url.tls)
      throw Failure(Code::bad_config, "proxy begins with https://; write http:// (the tunnel of an https url is encrypted anyway)");
    connection_.proxy_host = url.host;
    connection_.proxy_port = url.port;
  }

  http_client::TlsFiles tls_files() const {
    http_client::TlsFiles files;
    if (const auto ca = host_.find("tls.ca")) files.ca = ca->text();
    if (const auto certificate = host_.find("tls.certificate")) files.certificate = certificate->text();
    if (const auto key = host_.find("tls.key")) files.key = key->text();
    return files;
  }

  // The value of the header Authorization. The file is read for each batch, so that a new token needs no restart.
  std::string authorization() const {
    if (credentials_.empty()) return {};
    const std::string text = io::read_secret(credentials_);
    return bearer_ ? "Bearer " + text : http_client::basic_authorization(text);
  }

  void divide(std::span<const Sample> samples) {
    for (auto &share : shares_) share.clear();
    for (size_t i = 0; i < samples.size(); ++i) shares_[lanes_.size() == 1 ? 0 : lane_of(samples[i])].push_back(i);
  }
  size_t lane_of(const Sample &sample) const {
    const uint64_t hash = io::series_hash(sample);
    return targets_->home(hash) * lanes_per_server_ + (hash >> 40) % lanes_per_server_;
  }

  // Handles a delivered batch: writes the refused points as dead letters, and counts them.
  void settle() {
    for (const auto &lane : lanes_) {
      for (const auto &[sample, reason] : lane->not_encodable()) host_.dropped(reason, 1);
      if (const auto &[points, why] = lane->rejected(); points > 0) {
        host_.dropped("refused by the server, which accepted the rest of the request", points);
        host_.log(Level::warning, "the server refused " + std::to_string(points) + " of the points: " + why);
      }
      for (const DeadRecord &record : lane->dead())
        dead_letters_.add({record.sample, record.url, record.status, record.server_message, record.record});
    }
    dead_letters_.settle("points");
    for (const auto &[second, first] : options_.exposed_names->collisions())
      host_.log(Level::warning, "metrics " + core::in_quotes(first) + " and " + core::in_quotes(second) +
                                    " would have the same name for Prometheus; the second is dropped");
  }

  Host host_;
  std::vector<http_client::Url> urls_;
  std::vector<int64_t> weights_;
  LaneOptions options_;
  http_client::ConnectionOptions connection_;
  std::string credentials_;  // path of the file with the token; empty: none
  bool bearer_ = false;
  io::DeadLetters dead_letters_;

  std::optional<http_client::Targets> targets_;
  std::unique_ptr<http_client::Deadlines> deadlines_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  size_t lanes_per_server_ = 1;
  std::vector<std::vector<size_t>> shares_;  // by lane: indices of its samples in the current batch
  std::optional<uint64_t> unfinished_;       // fingerprint of a partly delivered batch
};

class Http final : public RequestSink {
 public:
  static constexpr Param params[] = {
      urls("http://127.0.0.1:4242"_str),
      kWeights,
      kHealth,
      param::choice("format", "opentsdb|influx|flat|jsonlines|stacks|remote_write|pyroscope|alertmanager|webhook",
                    "opentsdb: points for /api/put; influx: line protocol; flat: whole samples and their metrics, for a hub; "
                    "jsonlines: a point per line; stacks: CPU stacks as documents; remote_write: Prometheus remote write 1.0; "
                    "pyroscope: stacks for /ingest, a request per process and window; "
                    "alertmanager, webhook: alerts as JSON, other samples are dropped")
          .defaults("opentsdb"),
      kCompress,
      kLevel,
      param::integer("sample_rate", "pyroscope: CPU samples per second of the stacks: `frequency` of the source perf")
          .defaults("101")
          .range(1, 1e6)
          .unit("Hz"),
      batch_points("Maximum points per request; larger batches are split. flat, remote_write, pyroscope: samples"_str),
      kBatchSize,
      kSenders,
      kTimeout,
      io::deadline("10s"_str),
      kRetryMax,
      io::kMaxTags,
      io::kDropTags,
      kDeadLetters,
      kChunked,
      kBasic,
      kBearer,
      io::kHttpTls,
      kProxy,
  };
  static constexpr Description description = {
      .name = "http"_str, .summary = "Send to databases for metrics, or to another agent"_str, .params = params};

  explicit Http(Host host) : RequestSink(host, form_of(host.text("format"))) {}
};

class Otlp final : public RequestSink {
 public:
  static constexpr Param params[] = {
      urls("http://127.0.0.1:4318"_str),
      kWeights,
      kHealth,
      param::choice("signal", "metrics|traces|profiles",
                    "metrics: samples of metrics, to /v1/metrics; traces: ended spans, to /v1/traces; profiles: stacks, to "
                    "/v1development/profiles (with experimental = true)")
          .defaults("metrics"),
      param::boolean("experimental", "Permits profiles, whose form is that of opentelemetry-proto 1.10.0 and may change")
          .defaults("false"),
      kCompress,
      kLevel,
      batch_points("Maximum samples per request; larger batches are split"_str),
      kBatchSize,
      kSenders,
      kTimeout,
      io::deadline("10s"_str),
      kRetryMax,
      kDeadLetters,
      kBasic,
      kBearer,
      io::kHttpTls,
      kProxy,
  };
  static constexpr Description description = {
      .name = "otlp"_str, .summary = "Send metrics, spans or stacks to an OpenTelemetry collector"_str, .params = params};

  explicit Otlp(Host host) : RequestSink(host, form_of("otlp_" + std::string(host.text("signal")))) {
    if (host.text("signal") == "profiles" && !host.boolean("experimental"))
      throw Failure(Code::bad_config, "signal = \"profiles\" is experimental: its form may change; add experimental = true");
  }
};

}  // namespace
}  // namespace atalaya::http_sink

ATALAYA_PLUGIN("http", "0.1.0", "sink http\nsink otlp", atalaya::http_sink::Http, atalaya::http_sink::Otlp)
