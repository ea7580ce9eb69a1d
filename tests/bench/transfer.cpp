// SPDX-License-Identifier: Apache-2.0
// transfer BYTES: a process that holds both ends of a connection on loopback and moves messages of this size from one to the other;
// prints its port, as JSON. For each line of its input, a number of seconds, it does so for so long, and prints the bytes, the
// time, and its CPU time. One thread does both: between two, the rate would depend more on when the kernel switches from one to the
// other than on anything else.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <vector>

namespace {

struct Ends {
  int from, to, port;
};

[[noreturn]] void fail(const char *doing) {
  std::perror(doing);
  std::exit(1);
}

Ends connect_ends() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0), from = ::socket(AF_INET, SOCK_STREAM, 0), yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto *any = reinterpret_cast<sockaddr *>(&address);
  socklen_t length = sizeof address;
  if (::bind(listener, any, length) != 0 || ::listen(listener, 1) != 0 || ::getsockname(listener, any, &length) != 0)
    fail("listen");
  if (::connect(from, any, length) != 0 || ::setsockopt(from, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0) fail("connect");
  const int to = ::accept(listener, nullptr, nullptr);
  if (to < 0) fail("accept");
  ::close(listener);
  return {from, to, ntohs(address.sin_port)};
}

size_t moved(ssize_t bytes, const char *doing) {
  if (bytes < 0 && errno != EAGAIN) fail(doing);
  return bytes < 0 ? 0 : static_cast<size_t>(bytes);
}

/// In pieces, if it is larger than the buffers.
void move(const Ends &ends, std::vector<char> &message) {
  for (size_t sent = 0, received = 0; received < message.size();) {
    if (sent < message.size()) sent += moved(::send(ends.from, message.data() + sent, message.size() - sent, MSG_DONTWAIT), "send");
    received += moved(::recv(ends.to, message.data(), message.size() - received, MSG_DONTWAIT), "recv");
  }
}

int64_t cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void run_leg(const Ends &ends, std::vector<char> &message, double seconds) {
  const auto begin = std::chrono::steady_clock::now(), end = begin + std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
  const int64_t before = cpu_ns();
  uint64_t bytes = 0;
  auto now = begin;
  for (; now < end; now = std::chrono::steady_clock::now(), bytes += message.size()) move(ends, message);
  std::printf("{\"bytes\": %llu, \"ns\": %lld, \"cpu_ns\": %lld}\n", static_cast<unsigned long long>(bytes),
              static_cast<long long>(std::chrono::nanoseconds(now - begin).count()), static_cast<long long>(cpu_ns() - before));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  const Ends ends = connect_ends();
  std::printf("{\"port\": %d}\n", ends.port);
  std::fflush(stdout);
  std::vector<char> message(static_cast<size_t>(std::atoi(argv[1])));
  for (double seconds = 0; std::cin >> seconds;) run_leg(ends, message, seconds);
}
