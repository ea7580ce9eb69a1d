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

// A producer of librdkafka for one topic. Not thread-safe; librdkafka's own threads only log.
class Producer {
 public:
  // Receives the result of a message. Called in wait() only.
  using Reported = std::function<void(size_t message, rd_kafka_resp_err_t error)>;

  // Throws Failure (bad_config) if librdkafka refuses the settings, such as a missing certificate. Connects in the background.
  // `password`: empty without SASL.
  Producer(const rd_kafka_conf_t *conf, const std::string &topic, const std::string &password, Host host, Reported reported);
  Producer(const Producer &) = delete;
  Producer &operator=(const Producer &) = delete;
  // Drops messages without a result. The destructor waits for a limited time, even if librdkafka is blocked in a name lookup.
  ~Producer();

  struct Message {
    std::string_view key, value;
    int64_t time_ms;
  };
  // Copies the message; `number` is passed to the result.
  rd_kafka_resp_err_t produce(const Message &message, size_t number);
  // Sends all messages without the linger delay, and calls `reported` for results until all messages have one, maximum `for_ns`.
  void wait(int64_t for_ns);
  // The error that made this producer unusable, if there was one.
  std::optional<std::string> fatal() const;
  // The last message of librdkafka about a connection; empty if there is none.
  std::string connection_error() const;
  void set_password(const std::string &user, const std::string &password);

 private:
  struct Shared;
  static void on_report(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque);
  static void on_log(const rd_kafka_t *client, int level, const char *facility, const char *text);

  std::shared_ptr<Shared> shared_;  // outlives this object if librdkafka is blocked
  rd_kafka_t *client_ = nullptr;
  rd_kafka_topic_t *topic_ = nullptr;
};

}  // namespace atalaya::kafka_sink
