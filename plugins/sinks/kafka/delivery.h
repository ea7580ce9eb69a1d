// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <librdkafka/rdkafka.h>
#include <atalaya/plugin.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/sinks/kafka/messages.h"
#include "plugins/sinks/kafka/producer.h"
#include "plugins/sinks/kafka/settings.h"

namespace atalaya::kafka_sink {

// Whether the error is a permanent refusal of the message by the broker.
bool refuses(rd_kafka_resp_err_t error);

// Delivers a batch of messages to the topic. A call of deliver continues where the last one failed. Not thread-safe.
//
// States of a message:
//   waiting --produce--> sent --acknowledged--> done
//                          |--temporary failure-> waiting   (after the retries of librdkafka)
//                          '--refused---------> suspect --produce alone--> alone --refused--> dead
// Brokers accept or refuse all messages of a request together. So refused messages are sent again one per request, by a second,
// temporary producer: a message that is refused then is invalid.
class Delivery {
 public:
  Delivery(const KafkaConfig &config, Host host);

  // Creates the producer, so that invalid settings are reported at the start. Throws Failure.
  void open(const std::string &password);
  void close();
  void set_password(const std::string &password);

  // Sets the current batch. `messages` must not change until it is delivered or load is called again.
  void load(const Messages &messages);
  // Sends the undelivered messages and waits for the answers, maximum `for_ns`. Returns false if some remain: problem() has the
  // reason, and the caller must try again later.
  bool deliver(int64_t for_ns);

  const std::string &problem() const { return problem_; }
  struct Dead {
    size_t message;
    rd_kafka_resp_err_t error;
  };
  // The refused messages of the current batch; complete when deliver() has returned true.
  const std::vector<Dead> &dead() const { return dead_; }

 private:
  enum class State : uint8_t { waiting, sent, done, suspect, alone, dead };

  bool try_deliver(int64_t until);
  bool send_pending(std::unique_ptr<Producer> &producer, State from, State to, int64_t until);
  bool produce(Producer &producer, size_t message, State to);
  bool check_fatal(int64_t until);
  void on_result(size_t message, rd_kafka_resp_err_t error);
  void set_state(size_t message, State to);
  size_t count(State state) const { return counts_[static_cast<size_t>(state)]; }
  void abandon();
  bool refused_everything() const;
  void send_smaller();
  std::unique_ptr<Producer> make_producer(bool alone);

  KafkaConfig config_;
  Host host_;
  std::string password_;
  int64_t batch_bytes_;  // maximum size of a request; reduced when the broker refuses it as too large
  std::unique_ptr<Producer> producer_, single_producer_;

  // The current batch.
  const Messages *messages_ = nullptr;
  std::vector<State> states_;
  size_t counts_[6] = {};
  std::vector<Dead> dead_;
  std::string problem_;
  bool too_large_ = false;  // a request was refused because of its size
  int full_refusals_ = 0;
};

}  // namespace atalaya::kafka_sink
