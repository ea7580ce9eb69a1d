// SPDX-License-Identifier: Apache-2.0
// librdkafka's mock cluster as a program. It prints its bootstrap servers and then obeys a line at a time, answering with "ok":
//   topic NAME PARTITIONS    creates a topic
//   errors API CODE...       the next requests of that kind (0: produce, 22: the producer's id) get these errors; 0: none
//   down, up                 all brokers are unreachable, and back
//   rtt MS                   every answer takes so long
//   read NAME                before "ok" a line a message of the topic: partition, offset, time in ms, key and value in hexadecimal
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int kBrokers = 3;
constexpr int kPatience = 10'000;  // ms

void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
  char error[256] = "";
  if (rd_kafka_conf_set(conf, name, value, error, sizeof(error)) != RD_KAFKA_CONF_OK) throw std::runtime_error(error);
}

// A client that only owns the cluster and does not log that it has no brokers.
rd_kafka_conf_t *quiet() {
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  set(conf, "log_level", "3");
  return conf;
}

rd_kafka_t *make_client(rd_kafka_type_t type, rd_kafka_conf_t *conf) {
  char error[256] = "";
  rd_kafka_t *client = rd_kafka_new(type, conf, error, sizeof(error));
  if (client == nullptr) throw std::runtime_error(error);
  return client;
}

void must(rd_kafka_resp_err_t error) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) throw std::runtime_error(rd_kafka_err2str(error));
}

std::string hex(const void *data, size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  for (size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<const unsigned char *>(data)[i];
    result += kDigits[byte >> 4];
    result += kDigits[byte & 15];
  }
  return result.empty() ? "-" : result;
}

// All that a topic holds, partition by partition.
class Reader {
 public:
  Reader(const std::string &servers, std::string topic) : topic_(std::move(topic)) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", servers.c_str());
    set(conf, "group.id", "reader");
    set(conf, "enable.partition.eof", "true");
    set(conf, "auto.offset.reset", "earliest");
    set(conf, "enable.auto.commit", "false");
    client_ = make_client(RD_KAFKA_CONSUMER, conf);
    rd_kafka_poll_set_consumer(client_);
  }
  Reader(const Reader &) = delete;
  Reader &operator=(const Reader &) = delete;
  ~Reader() {
    rd_kafka_consumer_close(client_);
    rd_kafka_destroy(client_);
  }

  void print() {
    for (int open = assign(); open > 0;) {
      rd_kafka_message_t *message = rd_kafka_consumer_poll(client_, kPatience);
      if (message == nullptr) throw std::runtime_error("the topic cannot be read");
      if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        --open;
      } else if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        rd_kafka_timestamp_type_t type{};
        std::cout << message->partition << ' ' << message->offset << ' ' << rd_kafka_message_timestamp(message, &type) << ' '
                  << hex(message->key, message->key_len) << ' ' << hex(message->payload, message->len) << '\n';
      }
      rd_kafka_message_destroy(message);
    }
  }

 private:
  int assign() {
    rd_kafka_topic_t *topic = rd_kafka_topic_new(client_, topic_.c_str(), nullptr);
    const struct rd_kafka_metadata *metadata = nullptr;
    must(rd_kafka_metadata(client_, 0, topic, &metadata, kPatience));
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(8);
    const int count = metadata->topics[0].partition_cnt;
    for (int i = 0; i < count; ++i) rd_kafka_topic_partition_list_add(list, topic_.c_str(), i)->offset = RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(topic);
    must(rd_kafka_assign(client_, list));
    rd_kafka_topic_partition_list_destroy(list);
    return count;
  }

  std::string topic_;
  rd_kafka_t *client_ = nullptr;
};

class Cluster {
 public:
  Cluster() : client_(make_client(RD_KAFKA_PRODUCER, quiet())), cluster_(rd_kafka_mock_cluster_new(client_, kBrokers)) {
    if (cluster_ == nullptr) throw std::runtime_error("no mock cluster");
  }
  Cluster(const Cluster &) = delete;
  Cluster &operator=(const Cluster &) = delete;
  ~Cluster() {
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(client_);
  }

  std::string servers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }

  void run(const std::string &line) {
    std::istringstream words(line);
    std::string verb;
    std::string topic;
    int number = 0;
    words >> verb;
    if (verb == "topic" && words >> topic >> number) {
      must(rd_kafka_mock_topic_create(cluster_, topic.c_str(), number, 1));
    } else if (verb == "errors" && words >> number) {
      std::vector<rd_kafka_resp_err_t> errors;
      for (int code = 0; words >> code;) errors.push_back(static_cast<rd_kafka_resp_err_t>(code));
      rd_kafka_mock_push_request_errors_array(cluster_, static_cast<int16_t>(number), errors.size(), errors.data());
    } else if (verb == "down") {
      must(rd_kafka_mock_broker_set_down(cluster_, -1));
    } else if (verb == "up") {
      must(rd_kafka_mock_broker_set_up(cluster_, -1));
    } else if (verb == "rtt" && words >> number) {
      must(rd_kafka_mock_broker_set_rtt(cluster_, -1, number));
    } else if (verb == "read" && words >> topic) {
      Reader(servers(), topic).print();
    } else {
      throw std::runtime_error("unknown command \"" + line + "\"");
    }
  }

 private:
  rd_kafka_t *client_;
  rd_kafka_mock_cluster_t *cluster_;
};

}  // namespace

int main() {
  try {
    Cluster cluster;
    std::cout << cluster.servers() << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      cluster.run(line);
      std::cout << "ok" << std::endl;
    }
    return 0;
  } catch (const std::exception &problem) {
    std::cerr << "kafka_mock: " << problem.what() << std::endl;
    return 1;
  }
}
