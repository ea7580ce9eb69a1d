// SPDX-License-Identifier: Apache-2.0
// The sink "riemann": a batch becomes events, which are delivered when the server has answered ok to every message of them.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "plugins/shared/http/client/authorization.h"
#include "plugins/sinks/riemann/connection.h"
#include "plugins/sinks/riemann/delivery.h"
#include "plugins/sinks/riemann/events.h"
#include "plugins/sinks/riemann/server.h"
#include "plugins/shared/sink/dead_letters.h"
#include "plugins/shared/sink/fingerprint.h"
#include "plugins/shared/sink/params.h"

namespace atalaya::riemann_sink {
namespace {

constexpr int64_t kFirstPause = 100'000'000;

class Riemann final : public Sink {
 public:
  static constexpr Param params[] = {
      {.name = "server"_str,
       .type = ATALAYA_STRING,
       .default_text = "127.0.0.1"_str,
       .summary = "The server, host or host:port; without a port 5555, with tls 5554."_str},
      {.name = "prefix"_str,
       .type = ATALAYA_STRING,
       .default_text = "atalaya"_str,
       .summary = "Begins the services of profiles, as in \"atalaya profiler rate\"; \"\" for none."_str},
      {.name = "host"_str,
       .type = ATALAYA_ENUM,
       .default_text = "host"_str,
       .allowed = "host|pid@host"_str,
       .summary =
           "What an event's host is: the tag host, or pid@host where there is a pid. Riemann's index keeps one event for each host "
           "and service."_str},
      {.name = "service_tags"_str,
       .type = ATALAYA_LIST,
       .summary =
           "Tags whose values follow the metric in the service, as in \"sys.disk.reads.mb sda\"; all tags are attributes anyway."_str,
       .items = sinks::kTag,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "tags"_str,
       .type = ATALAYA_LIST,
       .summary = "Riemann's tags, for every event."_str,
       .items = sinks::kTag,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "ttl"_str,
       .type = ATALAYA_DURATION,
       .flags = ATALAYA_BOUNDED,
       .summary = "How long an event holds; absent: twice its window, and Riemann's own default where there is no window."_str,
       .min = 1e9,
       .max = 8.64e13},
      {.name = "batch_events"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "1000"_str,
       .unit = "events"_str,
       .summary = "The most that one message holds."_str,
       .min = 1,
       .max = 1e6},
      {.name = "batch_size"_str,
       .type = ATALAYA_SIZE,
       .flags = ATALAYA_BOUNDED,
       .default_text = "1 MiB"_str,
       .summary = "The most that one message holds. A larger event goes alone."_str,
       .min = 1024,
       .max = 128.0 * 1024 * 1024},
      sinks::span_of_time("timeout"_str, "5s"_str, "How long a connection may take, and how long the server may be silent."_str),
      sinks::span_of_time("deadline"_str, "10s"_str,
                          "How long a message and its answer may take in all, however slowly the server moves."_str),
      sinks::retry_max("The longest pause between two tries."_str),
      sinks::dead_letters(
          "Room for the events that the server refuses, in dead-letters.jsonl of the sink's state folder; the oldest half goes "
          "first. 0 B keeps none."_str),
      sinks::tls("Certificates; tls = {} encrypts with the system's authorities. TLS 1.2 is the least, and names are checked."_str),
  };
  static constexpr Description description = {
      .name = "riemann"_str,
      .summary = "Sends samples to Riemann as events, by protobuf over TCP or TLS, and loses none."_str,
      .params = params};

  explicit Riemann(Host host)
      : host_(host),
        server_(parse_server(host.text("server"), host.find("tls").has_value())),
        retry_max_(host.integer("retry_max")),
        dead_letters_(host, host.integer("dead_letters")),
        random_(std::random_device{}()) {
    config_.prefix = host.text("prefix");
    config_.pid_host = host.text("host") == "pid@host";
    config_.service_tags = host.texts("service_tags");
    config_.tags = host.texts("tags");
    if (const auto ttl = host.find("ttl")) config_.ttl_ns = ttl->integer();
    batch_.batch_events = static_cast<size_t>(host.integer("batch_events"));
    batch_.batch_bytes = static_cast<size_t>(host.integer("batch_size"));
    read_tls();
  }

  void start() override {
    if (delivery_) return;
    ConnectionOptions options;
    options.server = server_;
    options.timeout = std::chrono::nanoseconds(host_.integer("timeout"));
    options.deadline = std::chrono::nanoseconds(host_.integer("deadline"));
    if (tls_) options.tls = http_client::tls_context(*tls_);
    dead_letters_.open();
    events_.emplace(
        config_, [host = host_](uint32_t id) { return host.name_of(id); },
        [this](std::string_view name) { return host_.intern(name); });
    deadlines_ = std::make_unique<http_client::Deadlines>();
    connection_.emplace(std::move(options), *deadlines_);
    delivery_.emplace(batch_, [this](std::string_view message) { return connection_->exchange(message); });
  }

  void stop() override {
    delivery_.reset();
    connection_.reset();
    deadlines_.reset();
    dead_letters_.close();
    under_way_.reset();
  }

  Code write(std::span<const Sample> samples, int64_t &retry_after_ns) override {
    if (!delivery_) throw Failure(Code::retry, "the sink \"riemann\" is not started");
    const uint64_t now = sinks::fingerprint(samples);
    if (under_way_ != now) {
      events_->load(samples);
      delivery_->load(*events_);
    }
    under_way_ = now;
    if (!delivery_->deliver()) {
      retry_after_ns = pause();
      throw Failure(Code::retry, server_.text + ": " + delivery_->problem());
    }
    under_way_.reset();
    pause_ = kFirstPause;
    settle();
    return Code::ok;
  }

  // Nothing is held back: every batch is with the server when write returns.
  Code flush(int64_t /*deadline_ns*/) override { return Code::ok; }

 private:
  void read_tls() {
    if (!host_.find("tls")) return;
    tls_.emplace();
    if (const auto ca = host_.find("tls.ca")) tls_->ca = ca->text();
    if (const auto certificate = host_.find("tls.certificate")) tls_->certificate = certificate->text();
    if (const auto key = host_.find("tls.key")) tls_->key = key->text();
    if (tls_->certificate.empty() != tls_->key.empty())
      throw Failure(Code::bad_config, "tls.certificate and tls.key go together; write both");
  }

  // Doubles up to retry_max; half of it at random, so that a fleet that was cut off together does not come back together.
  int64_t pause() {
    std::uniform_real_distribution<double> half(0.5, 1.0);
    const auto pause = static_cast<int64_t>(static_cast<double>(std::min(pause_, retry_max_)) * half(random_));
    pause_ = std::min(pause_ * 2, std::max(retry_max_, kFirstPause));
    return std::max<int64_t>(pause, 1);
  }

  // The batch is delivered: what was not taken is written down and counted.
  void settle() {
    for (const auto &[sample, reason] : events_->without_form()) host_.dropped(reason, 1);
    for (const Delivery::Dead &dead : delivery_->dead())
      dead_letters_.add({events_->sample(dead.event), server_.text, 0, dead.words, events_->json(dead.event)});
    dead_letters_.settle("events");
  }

  Host host_;
  const Server server_;
  const int64_t retry_max_;
  EventConfig config_;
  DeliveryOptions batch_;
  std::optional<http_client::TlsFiles> tls_;
  sinks::DeadLetters dead_letters_;
  std::minstd_rand random_;

  std::optional<Events> events_;
  std::unique_ptr<http_client::Deadlines> deadlines_;
  std::optional<Connection> connection_;
  std::optional<Delivery> delivery_;
  std::optional<uint64_t> under_way_;  // the batch that is partly delivered
  int64_t pause_ = kFirstPause;
};

}  // namespace
}  // namespace atalaya::riemann_sink

ATALAYA_PLUGIN("riemann", "0.1.0", "sink riemann", atalaya::riemann_sink::Riemann)
