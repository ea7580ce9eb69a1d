// SPDX-License-Identifier: Apache-2.0
// Two threads that run `query`, which takes longer in planted runs, and then `brief` often. It waits for a line of input before and
// after, and prints of each run: thread, begin and end (CLOCK_MONOTONIC, ns), CPU time in it (ns), and whether it is a planted one.
//   planted_runs RUNS EVERY   each thread has this number of runs; every EVERY-th is slow;
//                             further words are ignored
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace {

constexpr int kBriefRuns = 150;
std::mutex mutex;
volatile uint64_t sum;

int64_t now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The loops are in their callers, whose names the stacks have, except for those of the clock's code.
#define BURN(ns)                                                                                         \
  for (const int64_t until = now(CLOCK_THREAD_CPUTIME_ID) + (ns); now(CLOCK_THREAD_CPUTIME_ID) < until;) \
    for (int i = 0; i < 200'000; ++i) sum = sum * 3 + 1

}  // namespace

extern "C" {

__attribute__((noinline)) void usual() {
  BURN(100'000'000);
  sum = sum + 1;
}
__attribute__((noinline)) void planted() {
  BURN(1'400'000'000);
  sum = sum + 2;
}
__attribute__((noinline)) void between() {
  BURN(30'000'000);
  sum = sum + 3;
}
__attribute__((noinline)) void query(bool is_slow) {
  usual();
  timespec pause{0, 40'000'000};
  ::nanosleep(&pause, nullptr);
  if (is_slow) planted();
  sum = sum + 4;
}
// Shorter than a task.
__attribute__((noinline)) void brief() {
  BURN(2'000'000);
  sum = sum + 5;
}
}

namespace {

void run(bool is_slow) {
  between();
  const int64_t begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
  query(is_slow);
  const int64_t used = now(CLOCK_THREAD_CPUTIME_ID) - cpu, end = now(CLOCK_MONOTONIC);
  const std::lock_guard lock(mutex);
  std::printf("%ld %lld %lld %lld %d\n", ::syscall(SYS_gettid), static_cast<long long>(begin), static_cast<long long>(end),
              static_cast<long long>(used), is_slow ? 1 : 0);
}

}  // namespace

int main(int count, char **words) {
  if (count < 3) return 2;
  const int runs = std::atoi(words[1]), every = std::atoi(words[2]);
  std::getchar();
  const auto work = [&](bool has_brief) {
    for (int i = 1; i <= runs; ++i) run(i % every == 0);
    for (int i = 0; has_brief && i < kBriefRuns; ++i) brief();
  };
  std::thread one(work, false), two(work, true);
  one.join();
  two.join();
  std::puts("done");
  std::fflush(stdout);
  std::getchar();
  return 0;
}
