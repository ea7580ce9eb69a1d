// SPDX-License-Identifier: Apache-2.0
// The sink "kafka": a batch becomes messages of one topic; it is written when the brokers have acknowledged every one.
#include <algorithm>
#include <atalaya/plugin.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "plugins/shared/secret/secret.h"
#include "plugins/sinks/kafka/delivery.h"
#include "plugins/sinks/kafka/messages.h"
#include "plugins/sinks/kafka/settings.h"
#include "plugins/shared/sink/dead_letters.h"
#include "plugins/shared/sink/fingerprint.h"
#include "plugins/shared/sink/params.h"

namespace atalaya::kafka_sink {
namespace {

// A write answers within this time, so that an agent can stop whatever the brokers do: it waits a second for a write that began
// before its deadline, and to close two producers takes half of that. What is on its way stays on its way.
constexpr int64_t kPatience = 400'000'000;
constexpr int64_t kFirstPause = 100'000'000;
constexpr int64_t kNanosPerMilli = 1'000'000;

constexpr Param kBroker[] = {{.type = ATALAYA_STRING, .summary = "host:port."_str}};
constexpr Param kOption[] = {{.type = ATALAYA_STRING, .summary = "Its value, as librdkafka writes it."_str}};
constexpr Param kSasl[] = {
    {.name = "mechanism"_str,
     .type = ATALAYA_ENUM,
     .default_text = "scram-sha-512"_str,
     .allowed = "plain|scram-sha-256|scram-sha-512"_str,
     .summary = "How the password is shown."_str},
    {.name = "user"_str, .type = ATALAYA_STRING, .flags = ATALAYA_REQUIRED, .summary = "Its name."_str},
    {.name = "password_file"_str,
     .type = ATALAYA_STRING,
     .flags = ATALAYA_REQUIRED,
     .summary = "A file that holds the password; read anew for every batch."_str},
};

KeyBy key_of(std::string_view word) {
  if (word == "host") return KeyBy::host;
  return word == "none" ? KeyBy::none : KeyBy::series;
}

class Kafka final : public Sink {
 public:
  static constexpr Param params[] = {
      {.name = "brokers"_str,
       .type = ATALAYA_LIST,
       .default_text = "127.0.0.1:9092"_str,
       .summary = "Brokers to ask for the others of their cluster; one that works is enough."_str,
       .items = kBroker,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "topic"_str, .type = ATALAYA_STRING, .default_text = "atalaya"_str, .summary = "The topic."_str},
      {.name = "format"_str,
       .type = ATALAYA_ENUM,
       .default_text = "jsonlines"_str,
       .allowed = "jsonlines|samples|opentsdb|influx"_str,
       .summary =
           "jsonlines: a point a line; samples: a whole sample as one JSON object; opentsdb: an array for /api/put; influx: line "
           "protocol."_str},
      {.name = "message"_str,
       .type = ATALAYA_ENUM,
       .default_text = "sample"_str,
       .allowed = "sample|point"_str,
       .summary =
           "What one message holds: sample: all lines of a sample; point: each line is a message, for readers that want one JSON "
           "object a message."_str},
      {.name = "key"_str,
       .type = ATALAYA_ENUM,
       .default_text = "series"_str,
       .allowed = "series|host|none"_str,
       .summary =
           "Messages with the same key stay in order in one partition: series: host and a hash of the sample's tags; host: the tag "
           "host; none: no key, any partition."_str},
      {.name = "compress"_str,
       .type = ATALAYA_ENUM,
       .default_text = "zstd"_str,
       .allowed = "none|gzip|lz4|zstd"_str,
       .summary = "How requests are compressed; brokers take zstd since 2.1."_str},
      {.name = "batch_messages"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "10000"_str,
       .unit = "messages"_str,
       .summary = "The most that one request holds for a partition."_str,
       .min = 1,
       .max = 1e6},
      {.name = "batch_size"_str,
       .type = ATALAYA_SIZE,
       .flags = ATALAYA_BOUNDED,
       .default_text = "1000000 B"_str,
       .summary =
           "The most that one request holds for a partition, and the largest message, before it is compressed; not more than the "
           "topic's max.message.bytes."_str,
       .min = 1000,
       .max = 1e9},
      {.name = "timeout"_str,
       .type = ATALAYA_DURATION,
       .flags = ATALAYA_BOUNDED,
       .default_text = "10s"_str,
       .summary = "How long a connection may take, and how long a broker may be silent, until the sink connects anew."_str,
       .min = 1e9,
       .max = 3e11},
      sinks::retry_max("The longest pause between two tries."_str),
      sinks::kMaxTags,
      sinks::kDropTags,
      sinks::dead_letters(
          "Room for the messages that the brokers refuse, in dead-letters.jsonl of the sink's state folder; the oldest half goes "
          "first. 0 B keeps none."_str),
      {.name = "client_id"_str,
       .type = ATALAYA_STRING,
       .default_text = "atalaya"_str,
       .summary = "What the brokers call this agent in their logs and quotas."_str},
      sinks::tls("Certificates; tls = {} encrypts with the system's authorities. Names are checked."_str),
      {.name = "sasl"_str,
       .type = ATALAYA_RECORD,
       .summary = "Who this agent is."_str,
       .items = kSasl,
       .item_count = std::size(kSasl),
       .item_size = sizeof(Param)},
      {.name = "options"_str,
       .type = ATALAYA_MAP,
       .summary = "Other settings of librdkafka, by its own names."_str,
       .items = kOption,
       .item_count = 1,
       .item_size = sizeof(Param)},
  };
  static constexpr Description description = {
      .name = "kafka"_str, .summary = "Sends samples to a topic of Apache Kafka, and loses none."_str, .params = params};

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
    if (config_.brokers.empty()) throw Failure(Code::bad_config, "brokers is empty; name one: brokers = \"host:9092\"");
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
      host_.log(Level::warning, "the sink \"kafka\" shows its password to the network; add tls = {}");
  }

  void stop() override {
    delivery_.reset();
    dead_letters_.close();
    under_way_.reset();
  }

  Code write(std::span<const Sample> samples, int64_t &retry_after_ns) override {
    if (!delivery_) throw Failure(Code::retry, "the sink \"kafka\" is not started");
    delivery_->set_password(password());
    const uint64_t now = sinks::fingerprint(samples);
    if (under_way_ != now) {
      messages_->load(samples);
      delivery_->load(*messages_);
    }
    under_way_ = now;
    if (!delivery_->deliver(kPatience)) {
      retry_after_ns = pause_;
      pause_ = std::min(pause_ * 2, std::max(config_.retry_max_ms * kNanosPerMilli, kFirstPause));
      throw Failure(Code::retry, delivery_->problem());
    }
    under_way_.reset();
    pause_ = kFirstPause;
    settle();
    return Code::ok;
  }

  // Nothing is held back: every batch is with the brokers when write returns.
  Code flush(int64_t /*deadline_ns*/) override { return Code::ok; }

 private:
  void read_security() {
    const auto text_of = [this](const char *path) {
      const auto value = host_.find(path);
      return value ? std::string(value->text()) : std::string();
    };
    config_.tls = {host_.find("tls").has_value(), text_of("tls.ca"), text_of("tls.certificate"), text_of("tls.key")};
    if (config_.tls.certificate.empty() != config_.tls.key.empty())
      throw Failure(Code::bad_config, "tls.certificate and tls.key go together; write both");
    if (!host_.find("sasl")) return;
    config_.sasl = {true, host_.text("sasl.mechanism"), host_.text("sasl.user"), host_.text("sasl.password_file")};
  }

  void read_message_config() {
    message_config_.format = core::format_from_name(host_.text("format"));
    message_config_.per_point = host_.text("message") == "point";
    message_config_.key = key_of(host_.text("key"));
    message_config_.tags.max_tags = static_cast<size_t>(host_.integer("max_tags"));
    message_config_.tags.droppable = host_.texts("drop_tags");
  }

  // Read for every batch, so that a new password needs no restart.
  std::string password() const { return config_.sasl.on ? read_secret(config_.sasl.password_file) : std::string(); }

  // The batch is delivered: what was not taken is written down and counted.
  void settle() {
    for (const auto &[sample, reason] : messages_->without_form()) host_.dropped(reason, 1);
    const std::string address = address_of(config_);
    for (const Delivery::Dead &dead : delivery_->dead())
      dead_letters_.add(
          {messages_->sample(dead.message), address, dead.error, rd_kafka_err2str(dead.error), messages_->value(dead.message)});
    dead_letters_.settle("messages");
  }

  Host host_;
  KafkaConfig config_;
  MessageConfig message_config_;
  sinks::DeadLetters dead_letters_;

  std::optional<Messages> messages_;
  std::unique_ptr<Delivery> delivery_;
  std::optional<uint64_t> under_way_;  // the batch that is partly delivered
  int64_t pause_ = kFirstPause;
};

}  // namespace
}  // namespace atalaya::kafka_sink

ATALAYA_PLUGIN("kafka", "0.1.0", "sink kafka", atalaya::kafka_sink::Kafka)
