// SPDX-License-Identifier: Apache-2.0
// The sink "kafka": a batch becomes messages of one topic. It is written when the brokers have acknowledged every message.
#include <algorithm>
#include <atalaya/plugin.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "plugins/shared/io/secret/secret.h"
#include "plugins/shared/io/sink/dead_letters.h"
#include "plugins/shared/io/sink/fingerprint.h"
#include "plugins/shared/io/sink/params.h"
#include "plugins/sinks/kafka/delivery.h"
#include "plugins/sinks/kafka/messages.h"
#include "plugins/sinks/kafka/settings.h"

namespace atalaya::kafka_sink {
namespace {

// Maximum time of a write, so that the agent can stop even if the brokers do not respond: it waits 1 s for a write that started
// before its deadline, and closing two producers takes half of that. Messages in flight remain in flight.
constexpr int64_t kWriteLimit = 400'000'000;
constexpr int64_t kFirstPause = 100'000'000;
constexpr int64_t kNanosPerMilli = 1'000'000;

constexpr Param kBroker[] = {param::string("broker", "HOST:PORT")};
constexpr Param kOption[] = {param::string("option", "Value in librdkafka's notation")};
constexpr Param kSasl[] = {
    param::choice("mechanism", "plain|scram-sha-256|scram-sha-512", "SASL mechanism").defaults("scram-sha-512"),
    param::string("user", "User name").required(),
    param::string("password_file", "File with the password; read again for every batch").required().unit("secret file"),
};

KeyBy key_of(std::string_view word) {
  if (word == "host") return KeyBy::host;
  return word == "none" ? KeyBy::none : KeyBy::series;
}

class Kafka final : public Sink {
 public:
  static constexpr Param params[] = {
      param::list("brokers", kBroker, "Bootstrap brokers; one that works is enough").defaults("127.0.0.1:9092"),
      param::string("topic", "Topic of the messages").defaults("atalaya"),
      param::choice("format", "jsonlines|samples|opentsdb|influx",
                    "jsonlines: a point per line; samples: a whole sample as one JSON object; opentsdb: an array for /api/put; "
                    "influx: line protocol")
          .defaults("jsonlines"),
      param::choice("message", "sample|point",
                    "Content of a message: sample: all lines of a sample; point: one line, for consumers that need one JSON object "
                    "per message")
          .defaults("sample"),
      param::choice("key", "series|host|none",
                    "Messages with equal keys stay in order in one partition: series: host and a hash of the tags; host: the tag "
                    "host; none: no key, any partition")
          .defaults("series"),
      param::choice("compress", "none|gzip|lz4|zstd", "Compression of requests; zstd needs brokers of version 2.1 or later")
          .defaults("zstd"),
      param::integer("batch_messages", "Maximum messages per request and partition")
          .defaults("10000")
          .range(1, 1e6)
          .unit("messages"),
      param::size("batch_size",
                  "Maximum size of a request per partition, and of a message, before compression; at most the topic's "
                  "max.message.bytes")
          .defaults("1000000 B")
          .range(1000, 1e9),
      param::duration("timeout", "Time limit for connecting, and for the silence of a broker before the sink reconnects")
          .defaults("10s")
          .range(1e9, 3e11),
      io::retry_max("Maximum pause between attempts"_str),
      io::kMaxTags,
      io::kDropTags,
      io::dead_letters(
          "Space for messages that the brokers refuse, in dead-letters.jsonl of the state folder; the oldest half is deleted "
          "first. 0 B keeps none."_str),
      param::string("client_id", "Name of this agent in logs and quotas of the brokers").defaults("atalaya"),
      io::tls("Certificates; tls = {} encrypts with the system's authorities. Host names are verified."_str),
      param::record("sasl", kSasl, "SASL authentication"),
      param::map("options", kOption, "Other settings of librdkafka, by its names"),
  };
  static constexpr Description description = {
      .name = "kafka"_str, .summary = "Send to a topic of Apache Kafka"_str, .params = params};

  explicit Kafka(Host host) : host_(host), dead_letters_(host, host.integer("dead_letters")) {
    config_.brokers = host.texts("brokers");
    config_.topic = host.text("topic");
    config_.client_id = host.text("client_id");
    config_.compress = host.text("compress");
    config_.batch_messages = host.integer("batch_messages");
    config_.batch_size = host.integer("batch_size");
    config_.timeout_ms = host.integer("timeout") / kNanosPerMilli;
    config_.retry_max_ms = host.integer("retry_max") / kNanosPerMilli;
    read_security();
    for (uint64_t i = 0; const auto option = host.child("options", i); ++i)
      config_.options.emplace_back(option->key(), option->text());
    if (config_.brokers.empty()) throw Failure(Code::bad_config, "brokers is empty; set one: brokers = \"host:9092\"");
    check_topic(config_.topic);
    static_cast<void>(make_conf(config_));
    read_message_config();
  }

  void start() override {
    if (delivery_) return;
    const core::NameOf name_of = [host = host_](uint32_t id) { return host.name_of(id); };
    messages_.emplace(message_config_, name_of, host_.intern("host"));
    auto delivery = std::make_unique<Delivery>(config_, host_);
    delivery->open(password());
    delivery_ = std::move(delivery);
    dead_letters_.open();
    if (config_.sasl.on && config_.sasl.mechanism == "plain" && !config_.tls.on)
      host_.log(Level::warning, "the sink \"kafka\" sends its password unencrypted; add tls = {}");
  }

  void stop() override {
    delivery_.reset();
    dead_letters_.close();
    unfinished_.reset();
  }

  Code write(std::span<const Sample> samples, int64_t &retry_after_ns) override {
    if (!delivery_) throw Failure(Code::retry, "the sink \"kafka\" is not started");
    delivery_->set_password(password());
    const uint64_t now = io::fingerprint(samples);
    if (unfinished_ != now) {
      messages_->load(samples);
      delivery_->load(*messages_);
    }
    unfinished_ = now;
    if (!delivery_->deliver(kWriteLimit)) {
      retry_after_ns = pause_;
      pause_ = std::min(pause_ * 2, std::max(config_.retry_max_ms * kNanosPerMilli, kFirstPause));
      throw Failure(Code::retry, delivery_->problem());
    }
    unfinished_.reset();
    pause_ = kFirstPause;
    settle();
    return Code::ok;
  }

  // Nothing is buffered: the brokers have every batch when write returns.
  Code flush(int64_t /*deadline_ns*/) override { return Code::ok; }

 private:
  void read_security() {
    const auto text_of = [this](const char *path) {
      const auto value = host_.find(path);
      return value ? std::string(value->text()) : std::string();
    };
    config_.tls = {host_.find("tls").has_value(), text_of("tls.ca"), text_of("tls.certificate"), text_of("tls.key")};
    if (config_.tls.certificate.empty() != config_.tls.key.empty())
      throw Failure(Code::bad_config, "tls.certificate and tls.key need each other; set both");
    if (!host_.find("sasl")) return;
    config_.sasl = {true, host_.text("sasl.mechanism"), host_.text("sasl.user"), host_.text("sasl.password_file")};
  }

  void read_message_config() {
    message_config_.format = protocols::format_from_name(host_.text("format"));
    message_config_.per_point = host_.text("message") == "point";
    message_config_.key = key_of(host_.text("key"));
    message_config_.tags.max_tags = static_cast<size_t>(host_.integer("max_tags"));
    message_config_.tags.droppable = host_.texts("drop_tags");
  }

  // The file is read for every batch, so that a new password needs no restart.
  std::string password() const { return config_.sasl.on ? io::read_secret(config_.sasl.password_file) : std::string(); }

  // Handles a delivered batch: writes the refused messages as dead letters, and counts them.
  void settle() {
    for (const auto &[sample, reason] : messages_->not_encodable()) host_.dropped(reason, 1);
    const std::string address = address_of(config_);
    for (const Delivery::Dead &dead : delivery_->dead())
      dead_letters_.add(
          {messages_->sample(dead.message), address, dead.error, rd_kafka_err2str(dead.error), messages_->value(dead.message)});
    dead_letters_.settle("messages");
  }

  Host host_;
  KafkaConfig config_;
  MessageConfig message_config_;
  io::DeadLetters dead_letters_;

  std::optional<Messages> messages_;
  std::unique_ptr<Delivery> delivery_;
  std::optional<uint64_t> unfinished_;  // fingerprint of a partly delivered batch
  int64_t pause_ = kFirstPause;
};

}  // namespace
}  // namespace atalaya::kafka_sink

ATALAYA_PLUGIN("kafka", "0.1.0", "sink kafka", atalaya::kafka_sink::Kafka)
