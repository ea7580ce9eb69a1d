// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/kafka/settings.h"

#include <algorithm>
#include <atalaya/plugin.hpp>
#include <cctype>
#include <string>

#include "core/base/text/text.h"

namespace atalaya::kafka_sink {
namespace {

// Settings that the sink controls, with the reason or the parameter to use instead. Users may set all others.
struct Owned {
  std::string_view setting, instead;
};
constexpr std::string_view kGuarantee = "the sink's delivery guarantee depends on it";
constexpr Owned kOwned[] = {
    {"acks", kGuarantee},
    {"batch.num.messages", "write batch_messages"},
    {"batch.size", "write batch_size"},
    {"bootstrap.servers", "write brokers"},
    {"client.id", "write client_id"},
    {"compression.codec", "write compress"},
    {"compression.type", "write compress"},
    {"delivery.report.only.error", kGuarantee},
    {"delivery.timeout.ms", "messages wait until they are acknowledged; limit them with queue or spool"},
    {"enable.gapless.guarantee", "a refused message becomes a dead letter and the others are delivered"},
    {"enable.idempotence", kGuarantee},
    {"linger.ms", "a window's batch is sent at once, in requests that are as large as possible"},
    {"log.queue", "the sink logs librdkafka's events"},
    {"max.in.flight", kGuarantee},
    {"max.in.flight.requests.per.connection", kGuarantee},
    {"message.max.bytes", "write batch_size"},
    {"message.send.max.retries", kGuarantee},
    {"message.timeout.ms", "messages wait until they are acknowledged; limit them with queue or spool"},
    {"metadata.broker.list", "write brokers"},
    {"queue.buffering.max.ms", "a window's batch is sent at once, in requests that are as large as possible"},
    {"reconnect.backoff.max.ms", "write retry_max"},
    {"request.required.acks", kGuarantee},
    {"request.timeout.ms", "write timeout"},
    {"retries", kGuarantee},
    {"sasl.mechanism", "write sasl.mechanism"},
    {"sasl.mechanisms", "write sasl.mechanism"},
    {"sasl.password", "write sasl.password_file, so that no pipeline file contains it"},
    {"sasl.username", "write sasl.user"},
    {"security.protocol", "write tls = {} and sasl"},
    {"socket.connection.setup.timeout.ms", "write timeout"},
    {"socket.timeout.ms", "write timeout"},
    {"ssl.ca.location", "write tls.ca"},
    {"ssl.certificate.location", "write tls.certificate"},
    {"ssl.key.location", "write tls.key"},
    {"transactional.id", "the sink needs no transactions"},
};

void set_option(rd_kafka_conf_t *conf, const std::string &name, const std::string &value) {
  const auto *owned = std::find_if(std::begin(kOwned), std::end(kOwned), [&](const Owned &one) { return one.setting == name; });
  if (owned != std::end(kOwned))
    throw Failure(Code::bad_config, "options: \"" + name + "\" cannot be set here: " + std::string(owned->instead));
  set(conf, name, value);
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

void set_security(rd_kafka_conf_t *conf, const KafkaConfig &config) {
  set(conf, "security.protocol", std::string(config.sasl.on ? "sasl_" : "") + (config.tls.on ? "ssl" : "plaintext"));
  if (!config.tls.ca.empty()) set(conf, "ssl.ca.location", config.tls.ca);
  if (!config.tls.certificate.empty()) set(conf, "ssl.certificate.location", config.tls.certificate);
  if (!config.tls.key.empty()) set(conf, "ssl.key.location", config.tls.key);
  if (!config.sasl.on) return;
  set(conf, "sasl.mechanism", upper(config.sasl.mechanism));
  set(conf, "sasl.username", config.sasl.user);
}

// Settings for exactly-once delivery to the partition: librdkafka keeps a message until a broker has acknowledged or refused it,
// over any number of connections, and numbers it, so that a repetition is stored once.
void set_delivery(rd_kafka_conf_t *conf, const KafkaConfig &config) {
  set(conf, "enable.idempotence", "true");
  set(conf, "acks", "all");
  set(conf, "message.timeout.ms", "0");
  set(conf, "queue.buffering.max.messages", "0");  // no limit: the batch is in memory in any case
  // The complete batch is queued in one call and then flushed, which ignores the linger delay.
  set(conf, "linger.ms", "1000");
  const std::string timeout = std::to_string(config.timeout_ms);
  set(conf, "request.timeout.ms", timeout);
  set(conf, "socket.timeout.ms", timeout);
  set(conf, "socket.connection.setup.timeout.ms", timeout);
  set(conf, "reconnect.backoff.max.ms", std::to_string(config.retry_max_ms));
  set(conf, "reconnect.backoff.ms", std::to_string(std::min<int64_t>(100, config.retry_max_ms)));
}

}  // namespace

void set(rd_kafka_conf_t *conf, const std::string &name, const std::string &value) {
  char error[512] = "";
  const rd_kafka_conf_res_t result = rd_kafka_conf_set(conf, name.c_str(), value.c_str(), error, sizeof(error));
  if (result == RD_KAFKA_CONF_OK) return;
  if (result == RD_KAFKA_CONF_UNKNOWN)
    throw Failure(Code::bad_config, "options: unknown setting of librdkafka: \"" + name + "\"; see its CONFIGURATION.md");
  std::string text = error;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  throw Failure(Code::bad_config, name + ": " + text);
}

void check_topic(std::string_view topic) {
  const bool legal = std::all_of(topic.begin(), topic.end(), [](unsigned char byte) {
    return (std::isalnum(byte) != 0 && byte < 0x80) || byte == '.' || byte == '_' || byte == '-';
  });
  if (!topic.empty() && topic.size() <= 249 && topic != "." && topic != ".." && legal) return;
  throw Failure(Code::bad_config,
                "topic \"" + std::string(topic) + "\" is not valid; use 1 to 249 letters, digits, '.', '_' and '-'");
}

Conf make_conf(const KafkaConfig &config) {
  Conf conf(rd_kafka_conf_new());
  set(conf.get(), "bootstrap.servers", core::joined(config.brokers, ","));
  set(conf.get(), "client.id", config.client_id);
  set(conf.get(), "compression.codec", config.compress);
  set(conf.get(), "batch.num.messages", std::to_string(config.batch_messages));
  set(conf.get(), "batch.size", std::to_string(config.batch_size));
  set(conf.get(), "message.max.bytes", std::to_string(config.batch_size));
  set(conf.get(), "partitioner", "murmur2_random");  // the partition that Java producers use for the same key
  set(conf.get(), "log.connection.close", "false");  // brokers close idle connections regularly
  set_delivery(conf.get(), config);
  set_security(conf.get(), config);
  for (const auto &[name, value] : config.options) set_option(conf.get(), name, value);
  return conf;
}

std::string address_of(const KafkaConfig &config) {
  return "kafka://" + core::joined(config.brokers, ",") + "/" + config.topic;
}

}  // namespace atalaya::kafka_sink
