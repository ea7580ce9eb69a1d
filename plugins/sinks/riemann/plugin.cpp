// SPDX-License-Identifier: Apache-2.0
// The sink "riemann": a batch becomes events. It is delivered when the server has answered ok to every message.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "plugins/shared/io/http/client/authorization.h"
#include "plugins/shared/io/sink/dead_letters.h"
#include "plugins/shared/io/sink/fingerprint.h"
#include "plugins/shared/io/sink/params.h"
#include "plugins/shared/protocols/riemann/events.h"
#include "plugins/sinks/riemann/connection.h"
#include "plugins/sinks/riemann/delivery.h"
#include "plugins/sinks/riemann/server.h"

namespace atalaya::riemann_sink {
namespace {

constexpr int64_t kFirstPause = 100'000'000;

class Riemann final : public Sink {
 public:
  static constexpr Param params[] = {
      param::string("server", "Server: HOST or HOST:PORT (default port: 5555, with tls 5554)").defaults("127.0.0.1"),
      param::string("prefix", "Prefix of the services of profiles, as in \"atalaya profiler rate\"; \"\" for none")
          .defaults("atalaya"),
      param::choice("host", "host|pid@host",
                    "Host of an event: the tag host, or pid@host if there is a pid. Riemann's index keeps one event per host and "
                    "service.")
          .defaults("host"),
      param::list("service_tags", io::kTag,
                  "Tags whose values are appended to the service, as in \"sys.disk.reads.mb sda\"; all tags are attributes anyway"),
      param::list("tags", io::kTag, "Riemann tags of every event"),
      param::duration("ttl", "Lifetime of an event (default: twice its window, or Riemann's default without a window)")
          .range(1e9, 8.64e13),
      param::integer("batch_events", "Maximum events per message").defaults("1000").range(1, 1e6).unit("events"),
      param::size("batch_size", "Maximum size of a message; a larger event is sent alone")
          .defaults("1 MiB")
          .range(1024, 128.0 * 1024 * 1024),
      io::duration_param("timeout"_str, "5s"_str, "Time limit for connecting, and for the silence of the server"_str),
      io::duration_param("deadline"_str, "10s"_str, "Time limit of a message and its answer"_str),
      io::retry_max("Maximum pause between attempts"_str),
      io::dead_letters(
          "Space for events that the server refuses, in dead-letters.jsonl of the state folder; the oldest half is deleted first. "
          "0 B keeps none."_str),
      io::tls("Certificates; tls = {} encrypts with the system's authorities. TLS 1.2 or later, host names are verified."_str),
  };
  static constexpr Description description = {
      .name = "riemann"_str, .summary = "Send events to Riemann, by protobuf over TCP or TLS"_str, .params = params};

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
    unfinished_.reset();
  }

  Code write(std::span<const Sample> samples, int64_t &retry_after_ns) override {
    if (!delivery_) throw Failure(Code::retry, "the sink \"riemann\" is not started");
    const uint64_t now = io::fingerprint(samples);
    if (unfinished_ != now) {
      events_->load(samples);
      delivery_->load(*events_);
    }
    unfinished_ = now;
    if (!delivery_->deliver()) {
      retry_after_ns = pause();
      throw Failure(Code::retry, server_.text + ": " + delivery_->problem());
    }
    unfinished_.reset();
    pause_ = kFirstPause;
    settle();
    return Code::ok;
  }

  // Nothing is buffered: the server has every batch when write returns.
  Code flush(int64_t /*deadline_ns*/) override { return Code::ok; }

 private:
  void read_tls() {
    if (!host_.find("tls")) return;
    tls_.emplace();
    if (const auto ca = host_.find("tls.ca")) tls_->ca = ca->text();
    if (const auto certificate = host_.find("tls.certificate")) tls_->certificate = certificate->text();
    if (const auto key = host_.find("tls.key")) tls_->key = key->text();
    if (tls_->certificate.empty() != tls_->key.empty())
      throw Failure(Code::bad_config, "tls.certificate and tls.key need each other; set both");
  }

  // The delay doubles up to retry_max. Half of it is random, so that many agents do not reconnect at the same time.
  int64_t pause() {
    std::uniform_real_distribution<double> half(0.5, 1.0);
    const auto pause = static_cast<int64_t>(static_cast<double>(std::min(pause_, retry_max_)) * half(random_));
    pause_ = std::min(pause_ * 2, std::max(retry_max_, kFirstPause));
    return std::max<int64_t>(pause, 1);
  }

  // Handles a delivered batch: writes the refused events as dead letters, and counts them.
  void settle() {
    for (const auto &[sample, reason] : events_->not_encodable()) host_.dropped(reason, 1);
    for (const Delivery::Dead &dead : delivery_->dead())
      dead_letters_.add({events_->sample(dead.event), server_.text, 0, dead.server_message, events_->json(dead.event)});
    dead_letters_.settle("events");
  }

  Host host_;
  const Server server_;
  const int64_t retry_max_;
  protocols::EventConfig config_;
  DeliveryOptions batch_;
  std::optional<http_client::TlsFiles> tls_;
  io::DeadLetters dead_letters_;
  std::minstd_rand random_;

  std::optional<protocols::Events> events_;
  std::unique_ptr<http_client::Deadlines> deadlines_;
  std::optional<Connection> connection_;
  std::optional<Delivery> delivery_;
  std::optional<uint64_t> unfinished_;  // fingerprint of a partly delivered batch
  int64_t pause_ = kFirstPause;
};

}  // namespace
}  // namespace atalaya::riemann_sink

ATALAYA_PLUGIN("riemann", "0.1.0", "sink riemann", atalaya::riemann_sink::Riemann)
