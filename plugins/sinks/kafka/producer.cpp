// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/kafka/producer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

namespace atalaya::kafka_sink {
namespace {

constexpr auto kCloseWithin = std::chrono::milliseconds(250);
constexpr int64_t kSayAgain = 60'000'000'000;

Level level_of(int syslog_level) {
  if (syslog_level <= 3) return Level::error;
  if (syslog_level == 4) return Level::warning;
  return syslog_level <= 6 ? Level::info : Level::debug;
}

// Removes the thread from a message such as "[thrd:host:9092/1]: host:9092/1: Connect to ... failed: Connection refused".
std::string_view without_thread(std::string_view text) {
  const size_t end = text.find("]: ");
  return text.substr(0, 6) == "[thrd:" && end != std::string_view::npos ? text.substr(end + 3) : text;
}

}  // namespace

struct Producer::Shared {
  Shared(Host the_host, Reported the_reported) : host(the_host), reported(std::move(the_reported)) {}

  Host host;
  Reported reported;
  mutable std::mutex mutex;
  bool closed = false;  // true: the Host may be destroyed, do not log
  std::string connection_error;
  std::map<std::string, int64_t, std::less<>> said;  // by facility: time of the last log line

  // Called on any thread of librdkafka. A failed connection is not logged here: the write that it delays reports it once.
  void log(int syslog_level, std::string_view facility, std::string_view text) {
    const std::lock_guard lock(mutex);
    if (closed) return;
    if (facility == "FAIL" || facility == "ERROR") {
      if (facility == "FAIL" || connection_error.empty()) connection_error = text;
      return;
    }
    const Level level = level_of(syslog_level);
    if (level != Level::debug) {
      int64_t &when = said[std::string(facility)];
      const int64_t now = host.monotonic();
      if (when != 0 && now - when < kSayAgain) return;
      when = now;
    }
    host.log(level, "librdkafka: " + std::string(facility) + ": " + std::string(text));
  }
};

Producer::Producer(const rd_kafka_conf_t *conf, const std::string &topic, const std::string &password, Host host, Reported reported)
    : shared_(std::make_shared<Shared>(host, std::move(reported))) {
  Conf own(rd_kafka_conf_dup(conf));
  rd_kafka_conf_set_opaque(own.get(), shared_.get());
  rd_kafka_conf_set_dr_msg_cb(own.get(), on_report);
  rd_kafka_conf_set_log_cb(own.get(), on_log);
  if (!password.empty()) set(own.get(), "sasl.password", password);
  char error[512] = "";
  client_ = rd_kafka_new(RD_KAFKA_PRODUCER, own.get(), error, sizeof(error));
  if (client_ == nullptr) throw Failure(Code::bad_config, std::string("librdkafka: ") + error);
  static_cast<void>(own.release());  // the client owns it now
  topic_ = rd_kafka_topic_new(client_, topic.c_str(), nullptr);
}

Producer::~Producer() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
  }
  rd_kafka_purge(client_, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
  const auto close = [shared = shared_, client = client_, topic = topic_] {
    if (topic != nullptr) rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(client);
  };
  std::promise<void> closed;
  std::future<void> done = closed.get_future();
  try {
    std::thread closer([close, closed = std::move(closed)]() mutable {
      close();
      closed.set_value();
    });
    if (done.wait_for(kCloseWithin) == std::future_status::ready) {
      closer.join();
    } else {
      closer.detach();
    }
  } catch (const std::system_error &) {  // no thread available: the call may take longer
    close();
  }
}

rd_kafka_resp_err_t Producer::produce(const Message &message, size_t number) {
  std::array<rd_kafka_vu_t, 6> parts{};
  parts[0].vtype = RD_KAFKA_VTYPE_RKT;
  parts[0].u.rkt = topic_;
  parts[1].vtype = RD_KAFKA_VTYPE_VALUE;
  parts[1].u.mem = {const_cast<char *>(message.value.data()), message.value.size()};
  parts[2].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
  parts[2].u.i64 = message.time_ms;
  parts[3].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  parts[3].u.i = RD_KAFKA_MSG_F_COPY;
  parts[4].vtype = RD_KAFKA_VTYPE_OPAQUE;
  parts[4].u.ptr = reinterpret_cast<void *>(number);
  parts[5].vtype = RD_KAFKA_VTYPE_KEY;
  parts[5].u.mem = {const_cast<char *>(message.key.data()), message.key.size()};
  rd_kafka_error_t *error = rd_kafka_produceva(client_, parts.data(), message.key.empty() ? parts.size() - 1 : parts.size());
  if (error == nullptr) return RD_KAFKA_RESP_ERR_NO_ERROR;
  const rd_kafka_resp_err_t code = rd_kafka_error_code(error);
  rd_kafka_error_destroy(error);
  return code;
}

void Producer::wait(int64_t for_ns) {
  const auto milliseconds = static_cast<int>(std::max<int64_t>(0, for_ns / 1'000'000));
  if (rd_kafka_flush(client_, milliseconds) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->connection_error.clear();
}

std::optional<std::string> Producer::fatal() const {
  char text[512] = "";
  if (rd_kafka_fatal_error(client_, text, sizeof(text)) == RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
  return text;
}

std::string Producer::connection_error() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->connection_error;
}

void Producer::set_password(const std::string &user, const std::string &password) {
  if (rd_kafka_error_t *error = rd_kafka_sasl_set_credentials(client_, user.c_str(), password.c_str())) {
    const std::string text = rd_kafka_error_string(error);
    rd_kafka_error_destroy(error);
    throw Failure(Code::retry, "the new password cannot be used: " + text);
  }
}

void Producer::on_report(rd_kafka_t * /*client*/, const rd_kafka_message_t *message, void *opaque) {
  static_cast<Shared *>(opaque)->reported(reinterpret_cast<size_t>(message->_private), message->err);
}

void Producer::on_log(const rd_kafka_t *client, int level, const char *facility, const char *text) {
  // While rd_kafka_new runs, the opaque pointer may not be set yet.
  if (auto *shared = static_cast<Shared *>(rd_kafka_opaque(client))) shared->log(level, facility, without_thread(text));
}

}  // namespace atalaya::kafka_sink
