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

// The broker will never take this message.
bool refuses(rd_kafka_resp_err_t error);

// Brings a batch of messages to the topic and knows how far it came. One thread.
//
//   waiting --produce--> sent --acknowledged--> done
//                          |--fails for now---> waiting   (the producer itself tries again for ever; this is what it gives up)
//                          '--refused---------> suspect --produce alone--> alone --refused--> dead
// Brokers take or refuse the messages of a request together. So those that were refused are sent again, each in a request of its
// own, by a second producer that exists for that time: what is refused then is to blame.
class Delivery {
 public:
  Delivery(const KafkaConfig &config, Host host);

  // Makes the producer, so that what librdkafka does not like is known at the start. Throws Failure.
  void open(const std::string &password);
  void close();
  void set_password(const std::string &password);

  // Takes these as the batch at hand. They stay as they are until it is delivered, or another one comes.
  void load(const Messages &messages);
  // Sends what is left of it and waits for the answers. False: not yet, `problem` says why; call it again.
  bool deliver(int64_t for_ns);

  const std::string &problem() const { return problem_; }
  struct Dead {
    size_t message;
    rd_kafka_resp_err_t error;
  };
  // Of the batch at hand, complete when deliver() has returned true.
  const std::vector<Dead> &dead() const { return dead_; }

 private:
  enum class State : uint8_t { waiting, sent, done, suspect, alone, dead };

  bool try_deliver(int64_t until);
  bool pass(std::unique_ptr<Producer> &producer, State from, State to, int64_t until);
  bool produce(Producer &producer, size_t message, State to);
  bool check_fatal(int64_t until);
  void reported(size_t message, rd_kafka_resp_err_t error);
  void move(size_t message, State to);
  size_t count(State state) const { return counts_[static_cast<size_t>(state)]; }
  void abandon();
  bool refused_everything() const;
  void send_smaller();
  std::unique_ptr<Producer> make_producer(bool alone);

  KafkaConfig config_;
  Host host_;
  std::string password_;
  int64_t batch_bytes_;  // as much as the topic has taken
  std::unique_ptr<Producer> producer_, lone_producer_;

  // The batch at hand.
  const Messages *messages_ = nullptr;
  std::vector<State> states_;
  size_t counts_[6] = {};
  std::vector<Dead> dead_;
  std::string problem_;
  bool too_large_ = false;  // a request was refused for its size
  int refusals_of_everything_ = 0;
};

}  // namespace atalaya::kafka_sink
