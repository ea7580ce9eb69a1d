// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/kafka/settings.h"

#include <doctest/doctest.h>
#include <atalaya/plugin.hpp>

using namespace atalaya::kafka_sink;

namespace {

KafkaConfig config() {
  KafkaConfig config;
  config.brokers = {"a:9092", "b:9092"};
  config.topic = "atalaya";
  config.client_id = "here";
  config.compress = "zstd";
  return config;
}

std::string value(const Conf &conf, const char *name) {
  char text[512] = "";
  size_t size = sizeof(text);
  REQUIRE(rd_kafka_conf_get(conf.get(), name, text, &size) == RD_KAFKA_CONF_OK);
  return text;
}

std::string problem_of(const KafkaConfig &config) {
  try {
    static_cast<void>(make_conf(config));
  } catch (const atalaya::Failure &failure) {
    CHECK(failure.code() == atalaya::Code::bad_config);
    return failure.what();
  }
  return "";
}

}  // namespace

TEST_CASE("kafka: the producer's settings keep the promise of the sink") {
  const Conf conf = make_conf(config());
  CHECK(value(conf, "bootstrap.servers") == "a:9092,b:9092");
  CHECK(value(conf, "enable.idempotence") == "true");
  CHECK(value(conf, "acks") == "-1");
  CHECK(value(conf, "message.timeout.ms") == "0");
  CHECK(value(conf, "security.protocol") == "plaintext");
  CHECK(address_of(config()) == "kafka://a:9092,b:9092/atalaya");
}

TEST_CASE("kafka: tls and sasl choose the protocol") {
  KafkaConfig tls = config();
  tls.tls = {true, "/ca.pem", "", ""};
  CHECK(value(make_conf(tls), "security.protocol") == "ssl");
  CHECK(value(make_conf(tls), "ssl.ca.location") == "/ca.pem");
  KafkaConfig both = tls;
  both.sasl = {true, "scram-sha-256", "me", "/password"};
  CHECK(value(make_conf(both), "security.protocol") == "sasl_ssl");
  CHECK(value(make_conf(both), "sasl.mechanisms") == "SCRAM-SHA-256");
  CHECK(value(make_conf(both), "sasl.username") == "me");
}

TEST_CASE("kafka: an option that does not exist, does not fit or is not the operator's is named") {
  KafkaConfig bad = config();
  bad.options = {{"lingr.ms", "5"}};
  CHECK(problem_of(bad) == "options: unknown setting of librdkafka: \"lingr.ms\"; see its CONFIGURATION.md");
  bad.options = {{"socket.keepalive.enable", "perhaps"}};
  CHECK(problem_of(bad).find("socket.keepalive.enable: ") == 0);
  bad.options = {{"acks", "1"}};
  CHECK(problem_of(bad) == "options: \"acks\" cannot be set here: the sink's delivery guarantee depends on it");
  bad.options = {{"sasl.password", "hush"}};
  CHECK(problem_of(bad) ==
        "options: \"sasl.password\" cannot be set here: write sasl.password_file, so that no pipeline file contains it");
  bad.options = {{"socket.keepalive.enable", "true"}};
  CHECK(problem_of(bad).empty());
}

TEST_CASE("kafka: names of topics") {
  for (const char *good : {"atalaya", "a.b_c-1"}) CHECK_NOTHROW(check_topic(good));
  for (const std::string &bad :
       {std::string(), std::string("a b"), std::string(".."), std::string("\xc3\xa9"), std::string(250, 'a')})
    CHECK_THROWS_AS(check_topic(bad), atalaya::Failure);
}
