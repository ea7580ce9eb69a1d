// SPDX-License-Identifier: Apache-2.0
// The sink http on windows of 1,000 processes with 15 metrics each, to a server on loopback that takes all and stores nothing: CPU
// time of encode + compress + send in the sink's thread, and bytes a point in the socket, heads included. Two mixes: 20 of the
// processes busy, the others with no rate but 0; and all of them busy, every value random, which nothing compresses well.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "plugins/sinks/http/lane.h"
#include "tests/bench/process_window.h"

using namespace atalaya::bench;
using namespace atalaya::core;
using namespace atalaya::http_client;
using namespace atalaya::http_sink;

namespace {

constexpr size_t kWindows = 20;
// The time of the reference agent (formats.md, section 12) for such a window from the reading to the socket; 129 and 8.8 bytes per
// point.
constexpr double kReferenceSeconds = 0.108;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Answers every request with 204 and counts the requests.
class Server {
 public:
  Server() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (::bind(socket_, reinterpret_cast<sockaddr *>(&address), size) != 0 || ::listen(socket_, 8) != 0)
      throw std::runtime_error("bind");
    ::getsockname(socket_, reinterpret_cast<sockaddr *>(&address), &size);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { work(); });
  }
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;
  ~Server() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  uint16_t port = 0;
  std::atomic<uint64_t> bytes{0};

 private:
  void work() {
    for (;;) {
      const int client = ::accept(socket_, nullptr, nullptr);
      if (client < 0) return;
      serve(client);
      ::close(client);
    }
  }
  void serve(int client) {
    static constexpr std::string_view kAnswer = "HTTP/1.1 204 No Content\r\n\r\n";
    std::string text;
    std::vector<char> piece(1 << 16);
    for (;;) {
      const size_t head = text.find("\r\n\r\n");
      const size_t length = head == std::string::npos ? std::string::npos : text.find("Content-Length: ");
      if (length != std::string::npos && text.size() >= head + 4 + std::stoul(text.substr(length + 16))) {
        bytes += text.size();
        text.clear();
        if (::send(client, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL) < 0) return;
        continue;
      }
      const ssize_t got = ::recv(client, piece.data(), piece.size(), 0);
      if (got <= 0) return;
      text.append(piece.data(), static_cast<size_t>(got));
    }
  }
  int socket_;
  std::thread thread_;
};

struct Figures {
  double seconds_a_window, bytes_a_point;
};

Figures measure(Server &server, std::string_view format, const char *method, int level, size_t busy) {
  Symbols symbols;
  LaneOptions options;
  options.form = form_of(format);
  options.compress = method;
  options.level = level;
  Targets targets({parse_url("http://127.0.0.1:" + std::to_string(server.port), std::string(options.form.default_path))}, {},
                  1'000'000'000);
  ConnectionOptions connection;
  connection.timeout = connection.deadline = std::chrono::seconds(60);
  Deadlines deadlines;
  Lane lane(
      options, [&](uint32_t id) { return symbols.name(id); }, [](uint32_t) { return std::nullopt; }, targets,
      Connection(connection, deadlines));
  std::vector<size_t> all(kProcesses);
  std::iota(all.begin(), all.end(), size_t{0});
  std::minstd_rand random(1);
  Batch batch;
  std::vector<double> seconds;
  uint64_t before = 0;
  for (size_t window = 0; window <= kWindows; ++window) {
    fill_window(batch, symbols, busy, static_cast<int64_t>(window), random);
    const double begin = cpu_seconds();
    lane.load({batch.raw().samples, batch.count()}, all, 0);
    if (!lane.deliver({batch.raw().samples, batch.count()}, {})) throw std::runtime_error(lane.problem());
    if (window == 0) {
      before = server.bytes;
    } else {
      seconds.push_back(cpu_seconds() - begin);
    }
  }
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], static_cast<double>(server.bytes - before) / static_cast<double>(kWindows * kPoints)};
}

}  // namespace

int main() {
  struct Method {
    const char *name;
    int level;
  };
  static constexpr Method kMethods[] = {{"none", 1}, {"gzip", 1}, {"gzip", 3}, {"gzip", 6}, {"zstd", 1}, {"zstd", 3}, {"zstd", 9}};
  static constexpr Method kGzip[] = {{"none", 1}, {"gzip", 3}}, kSnappy[] = {{"snappy", 1}};
  struct Protocol {
    std::string_view format;
    std::span<const Method> methods;
  };
  const Protocol protocols[] = {{"opentsdb", kMethods}, {"influx", kMethods},    {"jsonlines", kMethods},
                                {"flat", kMethods},     {"otlp_metrics", kGzip}, {"remote_write", kSnappy}};
  Server server;
  std::printf("%-12s %-7s %28s   %28s\n", "", "", "20 of 1,000 busy", "all busy, all values random");
  std::printf("%-12s %-7s %8s %10s %8s   %8s %10s %8s\n", "format", "method", "ms", "points/CPUs", "B/point", "ms", "points/CPUs",
              "B/point");
  double usual = 0;
  for (const auto &[format, methods] : protocols)
    for (const Method &method : methods) {
      const Figures idle = measure(server, format, method.name, method.level, 20);
      const Figures busy = measure(server, format, method.name, method.level, kProcesses);
      if (format == "opentsdb" && method.name == std::string_view("gzip") && method.level == 3) usual = idle.seconds_a_window;
      const bool has_level = method.name == std::string_view("gzip") || method.name == std::string_view("zstd");
      const std::string name = std::string(method.name) + (has_level ? " " + std::to_string(method.level) : "");
      std::printf("%-12s %-7s %8.2f %10.0f %8.2f   %8.2f %10.0f %8.2f\n", std::string(format).c_str(), name.c_str(),
                  idle.seconds_a_window * 1e3, kPoints / idle.seconds_a_window, idle.bytes_a_point, busy.seconds_a_window * 1e3,
                  kPoints / busy.seconds_a_window, busy.bytes_a_point);
    }
  std::printf(
      "the default, opentsdb gzip 3, unfiltered: 1/%.0f of the reference agent's %.0f ms for such a window (which reads it too)\n",
      kReferenceSeconds / usual, kReferenceSeconds * 1e3);
  std::printf("goal: influx and jsonlines with zstd at most 5 B a point\n");
}
