// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atalaya::kafka_sink {

struct FreeConf {
  void operator()(rd_kafka_conf_t *conf) const { rd_kafka_conf_destroy(conf); }
};
using Conf = std::unique_ptr<rd_kafka_conf_t, FreeConf>;

struct TlsConfig {
  bool on = false;
  std::string ca, certificate, key;
};

struct SaslConfig {
  bool on = false;
  std::string mechanism, user, password_file;
};

struct KafkaConfig {
  std::vector<std::string> brokers;
  std::string topic, client_id, compress;
  int64_t batch_messages = 10000, batch_size = 1'000'000;
  int64_t timeout_ms = 10'000, retry_max_ms = 5'000;
  TlsConfig tls;
  SaslConfig sasl;
  std::vector<std::pair<std::string, std::string>> options;  // settings by librdkafka's names
};

// Throws Failure (bad_config) for an invalid name.
void check_topic(std::string_view topic);

// Builds the configuration for librdkafka, without the password. Opens no connection. Throws Failure (bad_config) with the name of
// an invalid setting.
Conf make_conf(const KafkaConfig &config);

void set(rd_kafka_conf_t *conf, const std::string &name, const std::string &value);

// "kafka://broker:9092,other:9092/topic", for log lines.
std::string address_of(const KafkaConfig &config);

}  // namespace atalaya::kafka_sink
