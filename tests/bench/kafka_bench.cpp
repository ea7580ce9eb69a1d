// SPDX-License-Identifier: Apache-2.0
// The sink kafka on windows of 1,000 processes with 15 metrics each, to librdkafka's mock broker in this process: CPU time of
// encode + compress + send in all threads but the mock's, and bytes a point in the sockets. The same two mixes as http_bench.
#include <arpa/inet.h>
#include <dirent.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <linux/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "plugins/sinks/kafka/delivery.h"
#include "tests/bench/process_window.h"

using namespace atalaya;
using namespace atalaya::bench;
using namespace atalaya::core;
using namespace atalaya::kafka_sink;

namespace {

constexpr size_t kWindows = 20;
constexpr int64_t kPatience = 60'000'000'000;

void each_entry(const char *folder, const std::function<void(const std::string &)> &visit) {
  DIR *handle = ::opendir(folder);
  if (handle == nullptr) throw std::runtime_error(folder);
  while (const dirent *entry = ::readdir(handle))
    if (entry->d_name[0] != '.') visit(entry->d_name);
  ::closedir(handle);
}

double cpu_seconds() {
  uint64_t total = 0;
  each_entry("/proc/self/task", [&](const std::string &thread) {
    std::string name;
    uint64_t on_cpu = 0;
    std::getline(std::ifstream("/proc/self/task/" + thread + "/comm"), name);
    std::ifstream("/proc/self/task/" + thread + "/schedstat") >> on_cpu;
    if (name != "rdk:mock") total += on_cpu;
  });
  return static_cast<double>(total) / 1e9;
}

// Acknowledged messages on the connections to this port.
uint64_t bytes_to(uint16_t port) {
  uint64_t total = 0;
  each_entry("/proc/self/fd", [&](const std::string &name) {
    const int fd = std::atoi(name.c_str());
    sockaddr_in peer{};
    socklen_t size = sizeof(peer);
    if (::getpeername(fd, reinterpret_cast<sockaddr *>(&peer), &size) != 0 || ntohs(peer.sin_port) != port) return;
    tcp_info about{};
    size = sizeof(about);
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &about, &size) == 0) total += about.tcpi_bytes_acked;
  });
  return total;
}

struct Broker {
  Broker() : client(rd_kafka_new(RD_KAFKA_PRODUCER, quiet(), nullptr, 0)), cluster(rd_kafka_mock_cluster_new(client, 1)) {
    rd_kafka_mock_topic_create(cluster, "atalaya", 4, 1);
    address = rd_kafka_mock_cluster_bootstraps(cluster);
    port = static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  }
  Broker(const Broker &) = delete;
  Broker &operator=(const Broker &) = delete;
  ~Broker() {
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(client);
  }
  static rd_kafka_conf_t *quiet() {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "log_level", "3", nullptr, 0);
    return conf;
  }
  rd_kafka_t *client;
  rd_kafka_mock_cluster_t *cluster;
  std::string address;
  uint16_t port = 0;
};

struct Figures {
  double seconds_a_window, bytes_a_point, messages_a_second;
};

Figures measure(const MessageConfig &message, const char *compress, size_t busy) {
  const Broker broker;
  KafkaConfig config;
  config.brokers = {broker.address};
  config.topic = "atalaya";
  config.client_id = "bench";
  config.compress = compress;
  atalaya_host host{};
  host.struct_size = sizeof(host);
  host.log = [](void *, int32_t, atalaya_str) {};
  host.now = [](void *, int32_t) { return std::chrono::steady_clock::now().time_since_epoch().count(); };
  Delivery delivery(config, atalaya::Host(&host));
  delivery.open("");
  Symbols symbols;
  Messages messages(
      message, [&](uint32_t id) { return symbols.name(id); }, symbols.intern("host"));
  std::minstd_rand random(1);
  core::Batch batch;
  std::vector<double> seconds;
  uint64_t before = 0;
  for (size_t window = 0; window <= kWindows; ++window) {
    fill_window(batch, symbols, busy, static_cast<int64_t>(window), random);
    const double begin = cpu_seconds();
    messages.load({batch.raw().samples, batch.count()});
    delivery.load(messages);
    if (!delivery.deliver(kPatience)) throw std::runtime_error(delivery.problem());
    if (window == 0) {
      before = bytes_to(broker.port);
    } else {
      seconds.push_back(cpu_seconds() - begin);
    }
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  return {median, static_cast<double>(bytes_to(broker.port) - before) / static_cast<double>(kWindows * kPoints),
          static_cast<double>(messages.size()) / median};
}

}  // namespace

int main() {
  struct Form {
    const char *name;
    MessageConfig config;
  };
  const Form forms[] = {{"jsonlines", {}},
                        {"jsonlines, points", {.per_point = true}},
                        {"samples", {.format = protocols::Format::samples}},
                        {"opentsdb", {.format = protocols::Format::opentsdb}},
                        {"influx", {.format = protocols::Format::influx}}};
  std::printf("%-25s %38s   %38s\n", "", "20 of 1,000 busy", "all busy, all values random");
  std::printf("%-18s %-6s %8s %10s %9s %8s   %8s %10s %9s %8s\n", "format", "method", "ms", "points/CPUs", "msg/CPUs", "B/point",
              "ms", "points/CPUs", "msg/CPUs", "B/point");
  for (const Form &form : forms)
    for (const char *method : {"none", "lz4", "zstd"}) {
      const Figures idle = measure(form.config, method, 20);
      const Figures busy = measure(form.config, method, kProcesses);
      std::printf("%-18s %-6s %8.2f %10.0f %9.0f %8.2f   %8.2f %10.0f %9.0f %8.2f\n", form.name, method,
                  idle.seconds_a_window * 1e3, kPoints / idle.seconds_a_window, idle.messages_a_second, idle.bytes_a_point,
                  busy.seconds_a_window * 1e3, kPoints / busy.seconds_a_window, busy.messages_a_second, busy.bytes_a_point);
    }
  std::printf("goal: influx and jsonlines with zstd at most 5 B a point\n");
}
