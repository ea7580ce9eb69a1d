// SPDX-License-Identifier: Apache-2.0
// Against a mock cluster in this process.
#include "plugins/sinks/kafka/delivery.h"

#include <doctest/doctest.h>
#include <librdkafka/rdkafka_mock.h>

#include <chrono>
#include <vector>

#include "tests/unit/core/sample/sample_maker.h"

using namespace atalaya::kafka_sink;
using atalaya::core::testing::Maker;

namespace {

constexpr int64_t kLong = 30'000'000'000;
constexpr int64_t kShort = 200'000'000;
constexpr int16_t kProduce = 0;

class Fixture {
 public:
  Fixture() {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "log_level", "3", nullptr, 0);
    client_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, nullptr, 0);
    REQUIRE(client_ != nullptr);
    cluster_ = rd_kafka_mock_cluster_new(client_, 1);
    rd_kafka_mock_topic_create(cluster_, "atalaya", 1, 1);
    table_.struct_size = sizeof(table_);
    table_.log = [](void *, int32_t, atalaya_str) {};
    table_.now = [](void *, int32_t) { return std::chrono::steady_clock::now().time_since_epoch().count(); };
    config_.brokers = {rd_kafka_mock_cluster_bootstraps(cluster_)};
    config_.topic = "atalaya";
    config_.client_id = "test";
    config_.compress = "none";
    config_.retry_max_ms = 100;
  }
  Fixture(const Fixture &) = delete;
  Fixture &operator=(const Fixture &) = delete;
  ~Fixture() {
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(client_);
  }

  rd_kafka_mock_cluster_t *cluster() { return cluster_; }
  Delivery delivery() { return Delivery(config_, atalaya::Host(&table_)); }
  void errors(size_t count, rd_kafka_resp_err_t error) {
    const std::vector<rd_kafka_resp_err_t> errors(count, error);
    rd_kafka_mock_push_request_errors_array(cluster_, kProduce, errors.size(), errors.data());
  }

  Messages messages(size_t count) {
    for (size_t i = 0; i < count; ++i) maker_.count(maker_.add(ATALAYA_METRICS, {{"host", "vm"}}), "a.b", static_cast<int64_t>(i));
    Messages messages({}, maker_.name_of(), maker_.symbols.intern("host"));
    messages.load({maker_.batch.raw().samples, maker_.batch.count()});
    maker_.batch.clear();
    return messages;
  }

 private:
  rd_kafka_t *client_ = nullptr;
  rd_kafka_mock_cluster_t *cluster_ = nullptr;
  atalaya_host table_{};
  KafkaConfig config_;
  Maker maker_;
};

}  // namespace

TEST_CASE("kafka: a batch continues where it was, and another one may take its place") {
  Fixture fixture;
  Delivery delivery = fixture.delivery();
  delivery.open("");
  const Messages first = fixture.messages(20);
  rd_kafka_mock_broker_set_down(fixture.cluster(), -1);
  delivery.load(first);
  CHECK_FALSE(delivery.deliver(kShort));
  CHECK(delivery.problem().find("has not acknowledged 20 messages yet") != std::string::npos);
  rd_kafka_mock_broker_set_up(fixture.cluster(), -1);
  CHECK(delivery.deliver(kLong));

  rd_kafka_mock_broker_set_down(fixture.cluster(), -1);
  delivery.load(first);
  CHECK_FALSE(delivery.deliver(kShort));
  const Messages second = fixture.messages(3);
  rd_kafka_mock_broker_set_up(fixture.cluster(), -1);
  delivery.load(second);
  CHECK(delivery.deliver(kLong));
  CHECK(delivery.dead().empty());
}

TEST_CASE("kafka: a refusal of everything is doubted ten times, then believed") {
  Fixture fixture;
  Delivery delivery = fixture.delivery();
  const Messages messages = fixture.messages(8);
  delivery.load(messages);
  fixture.errors(1000, RD_KAFKA_RESP_ERR_POLICY_VIOLATION);
  for (int i = 0; i < 10; ++i) {
    CHECK_FALSE(delivery.deliver(kLong));
    CHECK(delivery.problem().find("refuses every message: Broker: Policy violation") != std::string::npos);
  }
  CHECK(delivery.deliver(kLong));
  CHECK(delivery.dead().size() == 8);
}

TEST_CASE("kafka: a few messages that are refused are believed at once") {
  Fixture fixture;
  Delivery delivery = fixture.delivery();
  const Messages messages = fixture.messages(3);
  delivery.load(messages);
  fixture.errors(6, RD_KAFKA_RESP_ERR_INVALID_RECORD);  // also where they go in several requests
  CHECK(delivery.deliver(kLong));
  CHECK(delivery.dead().size() == 3);
}

TEST_CASE("kafka: an empty batch is delivered") {
  Fixture fixture;
  Delivery delivery = fixture.delivery();
  const Messages messages = fixture.messages(0);
  delivery.load(messages);
  CHECK(delivery.deliver(kLong));
}
