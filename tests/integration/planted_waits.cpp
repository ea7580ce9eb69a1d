// SPDX-License-Identifier: Apache-2.0
// Threads that wait for known owners, for wakers_test.py.
//   planted_waits wait FOLDER PORT   ten rounds of each kind at the same time; then a thread that works and waits in turn
//   planted_waits serve              a server that answers late
// Each thread has its round as its name: "round-lock3", "round-peer3", "round-disk3", "round-sum".
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kRounds = 10;
constexpr double kWait = 0.15;

double clock_of(clockid_t id) {
  timespec time{};
  clock_gettime(id, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void nap(double seconds) {
  timespec time{0, static_cast<long>(seconds * 1e9)};
  nanosleep(&time, nullptr);
}

void burn(double seconds) {
  const double end = clock_of(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (clock_of(CLOCK_THREAD_CPUTIME_ID) < end) continue;
}

void be(const std::string &name) {
  pthread_setname_np(pthread_self(), name.c_str());
}

void release(std::mutex &lock) {
  lock.unlock();
}

void wait_for_lock(int round) {
  std::mutex lock;
  std::atomic<bool> held = false;
  std::thread holder([&] {
    be("holder" + std::to_string(round));
    lock.lock();
    held = true;
    nap(kWait);
    release(lock);
  });
  while (!held) nap(0.0001);
  std::thread waiter([&] {
    be("round-lock" + std::to_string(round));
    lock.lock();
    lock.unlock();
    be("idle");
  });
  waiter.join();
  holder.join();
}

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void wait_for_peer(int round, uint16_t port) {
  be("round-peer" + std::to_string(round));
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  char byte = 'q';
  if (connect(socket, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0 || write(socket, &byte, 1) != 1 ||
      read(socket, &byte, 1) != 1)
    perror("peer");
  be("idle");
  close(socket);
}

void wait_for_disk(int round, const std::string &folder) {
  be("round-disk" + std::to_string(round));
  const std::string path = folder + "/planted" + std::to_string(round);
  const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
  const std::vector<char> block(size_t{64} << 10, 'x');
  for (int i = 0; i < 20; ++i)
    if (write(file, block.data(), block.size()) < 0 || fsync(file) != 0) perror("disk");
  be("idle");
  close(file);
}

void move_byte(int file, bool sends) {
  char byte = 'x';
  if ((sends ? write(file, &byte, 1) : read(file, &byte, 1)) != 1) perror("pipe");
}

constexpr int kTurns = 20;

// Prints its wall and CPU time. Its partner answers late.
void work_and_wait(int request, int answer) {
  be("round-sum");
  const double wall = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < kTurns; ++i) {
    burn(0.01);
    nap(0.02);
    move_byte(request, true);
    move_byte(answer, false);
  }
  const double took = clock_of(CLOCK_MONOTONIC) - wall, used = clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
  be("idle");
  printf("%.9f %.9f\n", took, used);
  fflush(stdout);
}

void answer_worker() {
  std::array<int, 2> request{}, answer{};
  if (pipe(request.data()) != 0 || pipe(answer.data()) != 0) perror("pipe");
  be("partner");
  std::thread worker(work_and_wait, request[1], answer[0]);
  for (int i = 0; i < kTurns; ++i) {
    move_byte(request[0], false);
    nap(0.02);
    move_byte(answer[1], true);
  }
  worker.join();
}

int wait_for_all(const std::string &folder, uint16_t port) {
  if (getchar() == EOF) return 1;
  std::vector<std::thread> threads;
  for (int i = 0; i < kRounds; ++i) {
    threads.emplace_back(wait_for_lock, i);
    threads.emplace_back(wait_for_peer, i, port);
  }
  for (std::thread &thread : threads) thread.join();
  for (int i = 0; i < kRounds; ++i) std::thread(wait_for_disk, i, folder).join();
  std::thread(answer_worker).join();
  while (getchar() != EOF) continue;
  return 0;
}

void answer_late(int socket) {
  char byte = 0;
  if (read(socket, &byte, 1) == 1) nap(kWait);
  if (write(socket, "a", 1) != 1) perror("answer");
  close(socket);
}

int serve() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  if (bind(listener, reinterpret_cast<const sockaddr *>(&address), size) != 0 || listen(listener, kRounds) != 0) return 1;
  getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    const int socket = accept(listener, nullptr, nullptr);
    if (socket >= 0) std::thread(answer_late, socket).detach();
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (argc == 4) return wait_for_all(argv[2], static_cast<uint16_t>(atoi(argv[3])));
  return serve();
}
