// SPDX-License-Identifier: Apache-2.0
// burst_load SECONDS pairs N: N pairs of threads that pass a turn to each other after some work; prints the amount of work and the CPU
// time of the process, as JSON.
// burst_load SECONDS sleepers N: N threads that wake up once per second.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTurn = 20'000;  // some 20 us of work before each switch

uint64_t work(uint64_t value) {
  for (int i = 0; i < kTurn; ++i) value = value * 6364136223846793005U + 1442695040888963407U;
  return value;
}

struct Done {
  uint64_t rounds = 0, value = 0;
};

// Ends when the other one does.
void take_turns(Done &done, int from, int to, Clock::time_point end) {
  char turn = 0;
  while (read(from, &turn, 1) == 1) {
    done.value = work(done.value);
    ++done.rounds;
    if (Clock::now() >= end) break;
    if (write(to, &turn, 1) != 1) break;
  }
  close(to);
}

void run_pairs(std::vector<Done> &done, Clock::time_point end) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < done.size(); i += 2) {
    std::array<int, 2> there{}, back{};
    if (pipe(there.data()) != 0 || pipe(back.data()) != 0 || write(there[1], "t", 1) != 1) std::exit(1);
    threads.emplace_back([&done, i, there, back, end] { take_turns(done[i], there[0], back[1], end); });
    threads.emplace_back([&done, i, there, back, end] { take_turns(done[i + 1], back[0], there[1], end); });
  }
  for (std::thread &thread : threads) thread.join();
}

void run_sleepers(std::vector<Done> &done, Clock::time_point end) {
  std::vector<std::thread> threads;
  for (Done &each : done)
    threads.emplace_back([&each, end] {
      for (; Clock::now() < end; ++each.rounds) std::this_thread::sleep_for(std::chrono::seconds(1));
    });
  std::puts("ready");
  std::fflush(stdout);
  for (std::thread &thread : threads) thread.join();
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const auto end = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(std::atof(argv[1]) * 1000));
  const bool pairs = std::strcmp(argv[2], "pairs") == 0;
  std::vector<Done> done(static_cast<size_t>(std::atoi(argv[3])) * (pairs ? 2 : 1));
  pairs ? run_pairs(done, end) : run_sleepers(done, end);
  uint64_t rounds = 0, value = 0;
  for (const Done &each : done) {
    rounds += each.rounds;
    value ^= each.value;
  }
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  std::printf("{\"rounds\": %llu, \"cpu_ns\": %lld, \"value\": %llu}\n", static_cast<unsigned long long>(rounds),
              static_cast<long long>(time.tv_sec) * 1'000'000'000 + time.tv_nsec, static_cast<unsigned long long>(value));
}
