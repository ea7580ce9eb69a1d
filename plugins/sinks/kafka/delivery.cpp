// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/kafka/delivery.h"

#include <algorithm>

namespace atalaya::kafka_sink {
namespace {

constexpr int64_t kSlice = 100'000'000;
// If this number of messages was refused with equal errors and none was accepted, the cause is the broker, not the messages.
constexpr size_t kSuspicious = 8;
// After this number of attempts refusals are final, so that a batch of invalid messages is not retried without end.
constexpr int kMaxTries = 10;
constexpr int64_t kSmallestRequest = 16384;

bool too_large(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE || error == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
}

}  // namespace

bool refuses(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
      return true;
    default:
      return false;
  }
}

Delivery::Delivery(const KafkaConfig &config, Host host) : config_(config), host_(host), batch_bytes_(config.batch_size) {}

void Delivery::open(const std::string &password) {
  password_ = password;
  producer_ = make_producer(false);
}

void Delivery::close() {
  abandon();
  messages_ = nullptr;
}

void Delivery::set_password(const std::string &password) {
  if (password == password_) return;
  for (Producer *producer : {producer_.get(), single_producer_.get()})
    if (producer != nullptr) producer->set_password(config_.sasl.user, password);
  password_ = password;
}

std::unique_ptr<Producer> Delivery::make_producer(bool alone) {
  const Conf conf = make_conf(config_);
  if (alone) set(conf.get(), "batch.num.messages", "1");
  set(conf.get(), "batch.size", std::to_string(batch_bytes_));
  return std::make_unique<Producer>(conf.get(), config_.topic, password_, host_,
                                    [this](size_t message, rd_kafka_resp_err_t error) { on_result(message, error); });
}

void Delivery::load(const Messages &messages) {
  if (count(State::sent) + count(State::alone) > 0) abandon();  // messages in flight of an earlier batch that is not retried
  messages_ = &messages;
  states_.assign(messages.size(), State::waiting);
  std::fill(std::begin(counts_), std::end(counts_), 0);
  counts_[static_cast<size_t>(State::waiting)] = messages.size();
  dead_.clear();
  too_large_ = false;
  full_refusals_ = 0;
}

bool Delivery::deliver(int64_t for_ns) {
  problem_.clear();
  try {
    return try_deliver(host_.monotonic() + for_ns);
  } catch (const Failure &failure) {  // no producer could be created: retry the batch later
    problem_ = failure.what();
    return false;
  }
}

bool Delivery::try_deliver(int64_t until) {
  if (!send_pending(producer_, State::waiting, State::sent, until)) return false;
  if (!send_pending(single_producer_, State::suspect, State::alone, until)) return false;
  single_producer_.reset();
  if (refused_everything()) {
    ++full_refusals_;
    problem_ = address_of(config_) + " refuses every message: " + rd_kafka_err2str(dead_.front().error);
    for (const Dead &dead : dead_) set_state(dead.message, State::waiting);
    dead_.clear();
    return false;
  }
  send_smaller();
  return true;
}

// Sends the messages in state `from`, and waits until no message is in `from` or `to`.
bool Delivery::send_pending(std::unique_ptr<Producer> &producer, State from, State to, int64_t until) {
  for (size_t i = 0; i < states_.size() && count(from) > 0; ++i) {
    if (states_[i] != from) continue;
    if (!producer) producer = make_producer(to == State::alone);
    if (!produce(*producer, i, to)) break;
  }
  while (count(to) > 0 && host_.monotonic() < until) {
    producer->wait(std::min(kSlice, until - host_.monotonic()));
    if (count(to) > 0 && check_fatal(until)) return false;
  }
  if (count(to) + count(from) == 0) return true;
  if (check_fatal(until)) return false;
  if (problem_.empty())
    problem_ = address_of(config_) + " has not acknowledged " + std::to_string(count(to) + count(from)) + " messages yet";
  if (const std::string connection_error = producer ? producer->connection_error() : ""; !connection_error.empty())
    problem_ += "; " + connection_error;
  return false;
}

// Queues the message; false if the queue of the producer is full.
bool Delivery::produce(Producer &producer, size_t message, State to) {
  const rd_kafka_resp_err_t error =
      producer.produce({messages_->key(message), messages_->value(message), messages_->time_ms(message)}, message);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    set_state(message, to);
    return true;
  }
  if (refuses(error)) {  // refused by librdkafka itself because of its content
    set_state(message, State::dead);
    dead_.push_back({message, error});
    return true;
  }
  if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) problem_ = address_of(config_) + ": " + rd_kafka_err2str(error);
  return false;
}

// Replaces a producer with a fatal error. Unacknowledged messages are sent again, possibly twice.
bool Delivery::check_fatal(int64_t until) {
  for (Producer *producer : {producer_.get(), single_producer_.get()}) {
    if (producer == nullptr) continue;
    const auto fatal = producer->fatal();
    if (!fatal) continue;
    producer->wait(std::min(kSlice, until - host_.monotonic()));  // handles results that have arrived
    problem_ = address_of(config_) + ": " + *fatal + "; creating a new producer";
    abandon();
    return true;
  }
  return false;
}

// Returns messages in flight to their state before the send.
void Delivery::abandon() {
  producer_.reset();
  single_producer_.reset();
  for (size_t i = 0; i < states_.size(); ++i) {
    if (states_[i] == State::sent) set_state(i, State::waiting);
    if (states_[i] == State::alone) set_state(i, State::suspect);
  }
}

void Delivery::on_result(size_t message, rd_kafka_resp_err_t error) {
  const bool alone = states_[message] == State::alone;
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    set_state(message, State::done);
  } else if (!refuses(error)) {
    if (error != RD_KAFKA_RESP_ERR__FATAL) problem_ = address_of(config_) + ": " + rd_kafka_err2str(error);
    set_state(message, alone ? State::suspect : State::waiting);
  } else if (alone) {
    set_state(message, State::dead);
    dead_.push_back({message, error});
  } else {
    too_large_ = too_large_ || too_large(error);
    set_state(message, State::suspect);
  }
}

void Delivery::set_state(size_t message, State to) {
  --counts_[static_cast<size_t>(states_[message])];
  ++counts_[static_cast<size_t>(to)];
  states_[message] = to;
}

bool Delivery::refused_everything() const {
  return count(State::done) == 0 && full_refusals_ < kMaxTries && dead_.size() >= kSuspicious &&
         std::all_of(dead_.begin(), dead_.end(), [&](const Dead &dead) { return dead.error == dead_.front().error; });
}

// Reduces the size of requests: a request was too large but no single message was, so the topic's limit is below batch_size.
void Delivery::send_smaller() {
  if (!too_large_ || batch_bytes_ <= kSmallestRequest) return;
  if (std::any_of(dead_.begin(), dead_.end(), [](const Dead &dead) { return too_large(dead.error); })) return;
  batch_bytes_ = std::max(batch_bytes_ / 2, kSmallestRequest);
  host_.log(Level::info, address_of(config_) + " refuses requests of batch_size; further requests have at most " +
                             std::to_string(batch_bytes_) + " bytes");
  producer_.reset();
}

}  // namespace atalaya::kafka_sink
