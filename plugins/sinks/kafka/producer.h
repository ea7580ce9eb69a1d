// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <librdkafka/rdkafka.h>
#include <atalaya/plugin.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/sinks/kafka/settings.h"

namespace atalaya::kafka_sink {

// librdkafka's producer for one topic. One thread; librdkafka's own threads only log.
class Producer {
 public:
  // Receives the result of a message. Called from wait() only.
  using Reported = std::function<void(size_t message, rd_kafka_resp_err_t error)>;

  // Throws Failure (bad_config) if librdkafka refuses the settings, such as a missing certificate. Connects in the background.
  // `password`: empty without SASL.
  Producer(const rd_kafka_conf_t *conf, const std::string &topic, const std::string &password, Host host, Reported reported);
  Producer(const Producer &) = delete;
  Producer &operator=(const Producer &) = delete;
  // Drops messages without a result. Takes a limited time, even if librdkafka hangs in a name lookup.
  ~Producer();

  struct Message {
    std::string_view key, value;
    int64_t time_ms;
  };
  // Copies the message; `number` is passed to the result.
  rd_kafka_resp_err_t produce(const Message &message, size_t number);
  // Sends without lingering and handles results, until nothing is outstanding or the time is over.
  void wait(int64_t for_ns);
  // An error after which this producer is unusable.
  std::optional<std::string> fatal() const;
  // librdkafka's last message about a connection; empty if none.
  std::string trouble() const;
  void set_password(const std::string &user, const std::string &password);

 private:
  struct Shared;
  static void on_report(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque);
  static void on_log(const rd_kafka_t *client, int level, const char *facility, const char *text);

  std::shared_ptr<Shared> shared_;  // outlives this object if librdkafka hangs
  rd_kafka_t *client_ = nullptr;
  rd_kafka_topic_t *topic_ = nullptr;
};

}  // namespace atalaya::kafka_sink
