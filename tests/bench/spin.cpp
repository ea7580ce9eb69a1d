// SPDX-License-Identifier: Apache-2.0
// spin SECONDS THREADS: threads that work in a stack of some depth; prints the amount of work and its CPU time, as JSON.
// spin - THREADS: the same for each line of its input, which is a number of seconds.
// Work a CPU second shows the cost of sampling for a program, whatever else the machine does.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr int kDepth = 20;
constexpr int kTurns = 200;

__attribute__((noinline)) uint64_t work(int depth, uint64_t value) {
  if (depth > 0) return work(depth - 1, value ^ static_cast<uint64_t>(depth)) + 1;
  for (int i = 0; i < kTurns; ++i) value = value * 6364136223846793005U + 1442695040888963407U;
  return value;
}

struct Done {
  uint64_t rounds = 0, value = 0;
  int64_t cpu_ns = 0;
};

void spin(Done &done, std::chrono::steady_clock::time_point end) {
  while (std::chrono::steady_clock::now() < end)
    for (int i = 0; i < 1000; ++i, ++done.rounds) done.value = work(kDepth, done.value);
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  done.cpu_ns = int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void run_leg(double seconds, size_t threads_number) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  std::vector<Done> done(threads_number);
  std::vector<std::thread> threads;
  threads.reserve(done.size());
  for (Done &each : done) threads.emplace_back([&each, end] { spin(each, end); });
  for (std::thread &thread : threads) thread.join();
  uint64_t rounds = 0, value = 0;
  int64_t cpu_ns = 0;
  for (const Done &each : done) {
    rounds += each.rounds;
    value ^= each.value;
    cpu_ns += each.cpu_ns;
  }
  std::printf("{\"rounds\": %llu, \"cpu_ns\": %lld, \"value\": %llu}\n", static_cast<unsigned long long>(rounds),
              static_cast<long long>(cpu_ns), static_cast<unsigned long long>(value));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const auto threads = static_cast<size_t>(std::atoi(argv[2]));
  if (std::string_view(argv[1]) != "-") {
    run_leg(std::atof(argv[1]), threads);
    return 0;
  }
  for (double seconds = 0; std::cin >> seconds;) run_leg(seconds, threads);
}
