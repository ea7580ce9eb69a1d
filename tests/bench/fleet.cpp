// SPDX-License-Identifier: Apache-2.0
// The agents of many hosts, which send their windows to one hub at 127.0.0.1, as the sink http does with `format = "flat"`, zstd
// and a `spread`:
//   fleet PORT HOSTS WINDOWS EVERY_MS SPREAD_MS RECORD...
// A RECORD is a window of a real agent, a decompressed body of its requests. Each host sends them in turn, with its own name and
// the time of the window. EVERY_MS 0: a window follows as soon as the one before is stored.
//
// A host has an address, a connection that it keeps, and one request at a time; requests that the hub refuses with 429 or 503
// are sent again. Writes a line of JSON after each window, when its time is over and all of it is answered: {"window", "begin":
// Unix s, "seconds", "samples" and "points": acknowledged so far, "again": requests that were sent again, "refused": with another
// status, "median_ms" and "p99_ms": from the time at which a host is due to its acknowledgement}.
#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/base/encode/flat.h"
#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "plugins/shared/io/compress/compressor.h"

using namespace atalaya;

namespace {

constexpr int64_t kMillisecond = 1'000'000, kSecond = 1'000'000'000;
constexpr int64_t kWindow = 5 * kSecond;
constexpr uint32_t kFirstAddress = 0x7f020001;  // 127.2.0.1
constexpr int64_t kRetry = kSecond;

int64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}
[[noreturn]] void fail(const char *call) {
  throw std::system_error(errno, std::generic_category(), call);
}

// The windows of a real agent, as requests of any host.
class Recording {
 public:
  explicit Recording(std::span<char *> paths) {
    for (const char *path : paths) {
      std::ifstream file(path, std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      windows_.push_back(std::make_unique<core::Batch>());
      auto decoded = core::decode_flat(bytes, symbols_, *windows_.back());
      if (!decoded || decoded->size != bytes.size()) throw std::runtime_error(std::string(path) + " is not a record");
      // The first window of an agent is an instant: it has the declarations of metrics, and no rates.
      if (samples(*windows_.back()).empty() || samples(*windows_.back()).front().duration_ns == 0) windows_.pop_back();
    }
    if (windows_.empty()) throw std::runtime_error("no window with rates was recorded");
    host_ = symbols_.intern("host");
  }
  // Sets the time of all windows.
  void begin(int64_t end_ns) {
    for (const auto &window : windows_)
      for (atalaya_sample &sample : samples(*window)) sample.time_ns = end_ns;
  }
  struct Content {
    uint64_t samples = 0, points = 0;
  };
  // Appends a request. `is_first`: of its connection, with the declarations of the metrics.
  Content write(size_t host, size_t window, bool is_first, std::string &request) {
    std::array<char, 32> name{};
    const int size = std::snprintf(name.data(), name.size(), "node%06zu", host);
    core::Batch &batch = *windows_[(host + window) % windows_.size()];
    Content content;
    for (atalaya_sample &sample : samples(batch)) {
      for (uint32_t i = 0; i < sample.tag_count; ++i)
        if (sample.tags[i].key == host_) sample.tags[i].value = {name.data(), static_cast<uint64_t>(size)};
      ++content.samples;
      content.points += sample.field_count;
    }
    if (is_first) encoder_.start_stream();
    body_.clear();
    if (const core::Status encoded = encoder_.append(batch.raw(), symbols_, body_); !encoded)
      throw std::runtime_error(encoded.error());
    const std::string_view piece = body_;
    compressor_->compress(std::span(&piece, 1), packed_);
    request +=
        "POST /api/flat HTTP/1.1\r\nHost: hub\r\nUser-Agent: atalaya\r\nContent-Type: application/vnd.atalaya.flat\r\n"
        "Content-Encoding: zstd\r\nContent-Length: " +
        std::to_string(packed_.size()) + "\r\n\r\n" + packed_;
    return content;
  }

 private:
  static std::span<atalaya_sample> samples(core::Batch &batch) { return {batch.raw().samples, batch.raw().count}; }

  core::Symbols symbols_;
  std::vector<std::unique_ptr<core::Batch>> windows_;
  uint32_t host_ = 0;
  core::FlatEncoder encoder_;
  std::unique_ptr<io::Compressor> compressor_ = io::make_compressor("zstd", 3);
  std::string body_, packed_;
};

struct Host {
  int socket = -1;
  std::string request;  // that is not acknowledged yet
  size_t sent = 0;
  Recording::Content content;
  int64_t due_ns = 0, again_ns = 0;  // 0: nothing to send again
};

struct Account {
  uint64_t samples = 0, points = 0, again = 0, refused = 0;
};

class Fleet {
 public:
  Fleet(uint16_t port, size_t hosts, Recording &recording) : recording_(recording), hosts_(hosts), epoll_(::epoll_create1(0)) {
    for (size_t i = 0; i < hosts; ++i) connect(i, port);
  }

  // All hosts send their window, one after the other within `spread_ns` of `begin_ns`, until all of it is stored.
  void window(size_t number, int64_t begin_ns, int64_t spread_ns) {
    waits_.clear();
    size_t next = 0;
    waiting_ = hosts_.size();
    while (waiting_ > 0) {
      const int64_t passed = now_ns() - begin_ns;
      const auto count = static_cast<int64_t>(hosts_.size());
      const size_t due = spread_ns == 0 ? hosts_.size() : static_cast<size_t>(std::min(count, passed * count / spread_ns + 1));
      for (; next < due; ++next) take_turn(next, number, begin_ns + static_cast<int64_t>(next) * spread_ns / count);
      send_again();
      answers(next < hosts_.size() ? 1 : 10);
    }
  }
  const Account &account() const { return account_; }
  double wait_ms(double share) {
    if (waits_.empty()) return 0;
    std::sort(waits_.begin(), waits_.end());
    return static_cast<double>(waits_[static_cast<size_t>(static_cast<double>(waits_.size() - 1) * share)]) / 1e6;
  }

 private:
  void connect(size_t number, uint16_t port) {
    Host &host = hosts_[number];
    host.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in from{}, to{};
    from.sin_family = to.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(kFirstAddress + static_cast<uint32_t>(number));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(port);
    if (host.socket < 0 || ::bind(host.socket, reinterpret_cast<sockaddr *>(&from), sizeof(from)) != 0) fail("bind");
    if (::connect(host.socket, reinterpret_cast<sockaddr *>(&to), sizeof(to)) != 0) fail("connect");
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = number;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, host.socket, &event) != 0) fail("epoll_ctl");
  }
  void take_turn(size_t number, size_t window, int64_t due_ns) {
    Host &host = hosts_[number];
    host.request.clear();
    host.content = recording_.write(number, window, window == 0, host.request);
    host.due_ns = due_ns;
    send(number);
  }
  // A request is smaller than the buffer of a socket, so that the rest is only a matter of time.
  void send(size_t number) {
    Host &host = hosts_[number];
    for (host.sent = 0; host.sent < host.request.size();) {
      const ssize_t sent = ::send(host.socket, host.request.data() + host.sent, host.request.size() - host.sent, MSG_NOSIGNAL);
      if (sent < 0) fail("send");
      host.sent += static_cast<size_t>(sent);
    }
  }
  void send_again() {
    while (!again_.empty() && hosts_[again_.front()].again_ns <= now_ns()) {
      const size_t number = again_.front();
      again_.erase(again_.begin());
      send(number);
    }
  }
  void answers(int timeout_ms) {
    std::array<epoll_event, 256> events{};
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout_ms);
    for (int i = 0; i < count; ++i) answer(static_cast<size_t>(events[static_cast<size_t>(i)].data.u64));
  }
  // Answers are short, and come one at a time.
  void answer(size_t number) {
    Host &host = hosts_[number];
    std::array<char, 4096> text{};
    const ssize_t size = ::recv(host.socket, text.data(), text.size() - 1, 0);
    if (size <= 0) fail("a connection ended");
    if (size < 12) throw std::runtime_error("an answer in pieces");
    const int status = std::atoi(text.data() + 9);
    if (status == 429 || status == 503) {
      ++account_.again;
      host.again_ns = now_ns() + kRetry;
      again_.push_back(number);
      return;
    }
    --waiting_;
    if (status != 204) {
      if (account_.refused++ == 0) std::fprintf(stderr, "fleet: %s\n", text.data());
      return;
    }
    account_.samples += host.content.samples;
    account_.points += host.content.points;
    waits_.push_back(now_ns() - host.due_ns);
  }

  Recording &recording_;
  std::vector<Host> hosts_;
  int epoll_;
  size_t waiting_ = 0;         // hosts without an acknowledgement in this window
  std::vector<size_t> again_;  // in the order of their time
  std::vector<int64_t> waits_;
  Account account_;
};

void allow_files(size_t count) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, count);
  limit.rlim_max = std::max(limit.rlim_max, limit.rlim_cur);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) fail("limit of open files");
}

void sleep_until(int64_t time_ns) {
  const timespec time{time_ns / kSecond, time_ns % kSecond};
  ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

void run(uint16_t port, size_t hosts, size_t windows, int64_t every_ns, int64_t spread_ns, std::span<char *> records) {
  allow_files(hosts + 100);
  Recording recording(records);
  Fleet fleet(port, hosts, recording);
  // Windows that are sent at once lie in the past, as if they had waited.
  int64_t end_ns = now_ns(CLOCK_REALTIME) / kWindow * kWindow;
  if (every_ns == 0) end_ns -= static_cast<int64_t>(windows) * kWindow;
  int64_t begin_ns = now_ns();
  for (size_t number = 0; number < windows; ++number, end_ns += kWindow) {
    const double unix_s = static_cast<double>(now_ns(CLOCK_REALTIME)) / 1e9;
    recording.begin(end_ns);
    fleet.window(number, begin_ns, spread_ns);
    // A window that took longer delays the next one, whose hosts are due at the planned time all the same.
    const int64_t next_ns = every_ns == 0 ? now_ns() : begin_ns + every_ns;
    const int64_t end_of_window = std::max(next_ns, now_ns());
    sleep_until(end_of_window);
    const Account &account = fleet.account();
    std::printf(
        "{\"window\": %zu, \"begin\": %.3f, \"seconds\": %.3f, \"samples\": %llu, \"points\": %llu, \"again\": %llu, \"refused\": "
        "%llu, "
        "\"median_ms\": %.2f, \"p99_ms\": %.2f}\n",
        number, unix_s, static_cast<double>(end_of_window - begin_ns) / 1e9, static_cast<unsigned long long>(account.samples),
        static_cast<unsigned long long>(account.points), static_cast<unsigned long long>(account.again),
        static_cast<unsigned long long>(account.refused), fleet.wait_ms(0.5), fleet.wait_ms(0.99));
    std::fflush(stdout);
    begin_ns = next_ns;
  }
}

}  // namespace

int main(int count, char **arguments) {
  if (count < 7) {
    std::fprintf(stderr, "usage: fleet PORT HOSTS WINDOWS EVERY_MS SPREAD_MS RECORD...\n");
    return 2;
  }
  try {
    const std::span<char *> words(arguments, static_cast<size_t>(count));
    run(static_cast<uint16_t>(std::atoi(words[1])), std::stoul(words[2]), std::stoul(words[3]), std::stoll(words[4]) * kMillisecond,
        std::stoll(words[5]) * kMillisecond, words.subspan(6));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "fleet: %s\n", error.what());
    return 1;
  }
}
