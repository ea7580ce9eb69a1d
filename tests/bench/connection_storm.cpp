// SPDX-License-Identifier: Apache-2.0
// As many short connections a second as are requested, or as the machine can make:
//   connection_storm SECONDS RATE
// Each goes to one of many loopback addresses, so that ports do not run out, carries 100 bytes and ends. Processes named
// bench-maker open them, others named bench-taker take them. Writes a line of JSON: {"port":..,"seconds":..,"connections":..}.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr uint32_t kMakers = 2, kTakers = 2, kAddresses = 1000;
constexpr uint32_t kLoopback = 0x7f010001;  // 127.1.0.1
constexpr size_t kBytes = 100;

int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

sockaddr_in address_of(uint32_t address, uint16_t port) {
  sockaddr_in all{};
  all.sin_family = AF_INET;
  all.sin_addr.s_addr = htonl(address);
  all.sin_port = htons(port);
  return all;
}

[[noreturn]] void fail(const char *call) {
  std::perror(call);
  std::exit(1);
}

[[noreturn]] void take(int server) {
  ::prctl(PR_SET_NAME, "bench-taker");
  std::array<char, kBytes> data{};
  for (;;) {
    const int connection = ::accept4(server, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    while (::recv(connection, data.data(), data.size(), 0) > 0) {
    }
    ::close(connection);
  }
}

// The child's pid; 0 in the child. Never less: kill() of -1 ends everybody's processes.
pid_t forked() {
  const pid_t pid = ::fork();
  if (pid < 0) fail("fork");
  if (pid == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no process is left behind if a later one fails
  return pid;
}

bool make_one(uint32_t number, uint16_t port) {
  const int connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) fail("socket");
  const sockaddr_in to = address_of(kLoopback + number % kAddresses, port);
  bool made = ::connect(connection, reinterpret_cast<const sockaddr *>(&to), sizeof(to)) == 0;
  std::array<char, kBytes> data{};
  made = made && ::send(connection, data.data(), data.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(kBytes);
  ::close(connection);
  return made;
}

// One in kMakers of all connections, each at its time or as soon as possible after it.
[[noreturn]] void make(uint32_t maker, uint16_t port, int64_t seconds, int64_t rate, std::atomic<uint64_t> &made) {
  ::prctl(PR_SET_NAME, "bench-maker");
  const int64_t begin = now(), end = begin + seconds * kSecond, distance = kMakers * kSecond / rate;
  int64_t due = begin;
  for (uint32_t number = maker; now() < end; number += kMakers, due += distance) {
    if (const int64_t early = due - now(); early > 0) {
      const timespec rest{early / kSecond, early % kSecond};
      ::nanosleep(&rest, nullptr);
    }
    if (make_one(number, port)) made.fetch_add(1);
  }
  std::_Exit(0);
}

}  // namespace

int main(int argc, char **argv) {
  const int64_t seconds = argc == 3 ? std::atoll(argv[1]) : 0, rate = argc == 3 ? std::atoll(argv[2]) : 0;
  if (seconds <= 0 || rate <= 0) {
    std::fputs("usage: connection_storm SECONDS RATE\n", stderr);
    return 2;
  }
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = address_of(INADDR_ANY, 0);
  socklen_t size = sizeof(address);
  if (server < 0 || ::bind(server, reinterpret_cast<sockaddr *>(&address), size) != 0 || ::listen(server, 4096) != 0 ||
      ::getsockname(server, reinterpret_cast<sockaddr *>(&address), &size) != 0)
    fail("listen");
  const uint16_t port = ntohs(address.sin_port);
  void *shared = ::mmap(nullptr, sizeof(std::atomic<uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fail("mmap");
  auto &made = *new (shared) std::atomic<uint64_t>(0);
  std::array<pid_t, kTakers> takers{};
  for (pid_t &receiver : takers)
    if ((receiver = forked()) == 0) take(server);
  std::array<pid_t, kMakers> makers{};
  const int64_t begin = now();
  for (uint32_t maker = 0; maker < kMakers; ++maker)
    if ((makers[maker] = forked()) == 0) make(maker, port, seconds, rate, made);
  for (const pid_t maker : makers) ::waitpid(maker, nullptr, 0);
  const double passed = static_cast<double>(now() - begin) / kSecond;
  ::usleep(200'000);  // the takers end the connections in the queue
  for (const pid_t receiver : takers) {
    ::kill(receiver, SIGKILL);
    ::waitpid(receiver, nullptr, 0);
  }
  std::printf("{\"port\":%u,\"seconds\":%.3f,\"connections\":%llu}\n", port, passed, static_cast<unsigned long long>(made.load()));
  return 0;
}
