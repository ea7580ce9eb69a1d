// SPDX-License-Identifier: Apache-2.0
// Cost of running a source in a separate process: CPU of both processes per batch, less that of the same call in this process,
// in the same run. isolation_bench PLUGINS
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/isolation/isolation.h"
#include "core/isolation/shared_memory.h"

using namespace atalaya::core;

namespace {

constexpr int kPairs = 15;

// The child is the only process of its kind: its CPU clock is that of its pid.
class Clock {
 public:
  explicit Clock(pid_t child) {
    if (child > 0) ::clock_getcpuclockid(child, &child_);
  }
  double seconds() const { return read(CLOCK_PROCESS_CPUTIME_ID) + (child_ == 0 ? 0 : read(child_)); }

 private:
  static double read(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  }
  clockid_t child_ = 0;
};

struct Spread {
  double median, low, high;
};
Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

class Bench {
 public:
  Bench(Registry::Component component, int64_t samples) : component_(std::move(component)) {
    std::vector<Problem> ignored;
    Value written;
    written.type = Value::Type::table;
    Value count;
    count.type = Value::Type::integer;
    count.integer = samples;
    written.map.emplace_back("samples", count);
    const Parameters parameters = Parameters::resolve(schema_of(*component_.component), written, ignored);
    const auto make = [&](bool isolated) {
      auto made = make_instance({.on = isolated, .memory_bytes = 256 << 20, .time_ns = 10'000'000'000}, component_, parameters,
                                "bench", symbols_, surroundings_, &launcher_);
      if (!made || !(*made)->start().ok()) throw std::runtime_error("the source cannot be made");
      return std::move(*made);
    };
    here_ = make(false);
    there_ = make(true);
    const int64_t pid = there_pid();
    clock_here_ = Clock(0);
    clock_there_ = Clock(static_cast<pid_t>(pid));
  }

  // CPU us a batch more than here; ABBA pairs.
  Spread extra_us(int batches, int64_t pause_ns, int pairs) {
    once(*here_, clock_here_, batches, 0);
    once(*there_, clock_there_, batches, 0);
    std::vector<double> extra;
    for (int pair = 0; pair < pairs; ++pair) {
      const bool first = pair % 2 == 0;
      const double a = first ? once(*here_, clock_here_, batches, pause_ns) : once(*there_, clock_there_, batches, pause_ns);
      const double b = first ? once(*there_, clock_there_, batches, pause_ns) : once(*here_, clock_here_, batches, pause_ns);
      extra.push_back((first ? b - a : a - b) * 1e6 / batches);
    }
    return spread_of(std::move(extra));
  }

 private:
  // The source's own number, which it reports in a field of its first sample.
  int64_t there_pid() {
    Batch batch;
    there_->collect(window(), batch);
    for (uint32_t i = 0; i < batch.raw().samples[0].field_count; ++i)
      if (symbols_.name(batch.raw().samples[0].fields[i].name) == "test.pid") return batch.raw().samples[0].fields[i].value.i64;
    throw std::runtime_error("the source does not say its pid");
  }
  static atalaya_window window() { return {sizeof(atalaya_window), 0, 1, 1, 1, 1}; }

  double once(Instance &instance, const Clock &clock, int batches, int64_t pause_ns) {
    const double begin = clock.seconds();
    for (int i = 0; i < batches; ++i) {
      batch_.clear();
      if (!instance.collect(window(), batch_).ok()) throw std::runtime_error("collect failed");
      if (pause_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(pause_ns));
    }
    return clock.seconds() - begin;
  }

  Registry::Component component_;
  Symbols symbols_;
  Surroundings surroundings_;
  Launcher launcher_;
  std::unique_ptr<Instance> here_, there_;
  Clock clock_here_{0}, clock_there_{0};
  Batch batch_;
};

// Cost of two processes that only wake each other by futexes: CPU us a round. No wait for an answer costs less.
double floor_us() {
  static constexpr uint32_t kRounds = 20000;
  // SharedMemory is not for forks: its mapping stays behind.
  void *memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  auto &asked = *new (memory) std::atomic<uint32_t>(0);
  auto &answered = *new (static_cast<char *>(memory) + 64) std::atomic<uint32_t>(0);
  const pid_t child = ::fork();
  if (child == 0) {
    for (uint32_t done = 0;;) {  // until it is killed
      futex_wait(asked, done, INT64_MAX);
      if (asked == done) continue;
      answered = done = asked;
      futex_wake(answered);
    }
  }
  const Clock clock(child);
  const double begin = clock.seconds();
  for (uint32_t round = 1; round <= kRounds; ++round) {
    asked = round;
    futex_wake(asked);
    while (answered != round) futex_wait(answered, round - 1, INT64_MAX);
  }
  const double spent = clock.seconds() - begin;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::munmap(memory, 4096);
  return spent * 1e6 / kRounds;
}

// On one core, as others may have the other one; a process woken on another costs more, mostly in virtual machines.
void pin_to_this_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  ::sched_setaffinity(0, sizeof(one), &one);
}

bool line(const char *title, Spread us, double limit_us) {
  const bool within = us.median <= limit_us;
  std::printf("%-52s %8.2f us (%.2f to %.2f), at most %.0f: %s\n", title, us.median, us.low, us.high, limit_us,
              within ? "yes" : "NO");
  return within;
}

}  // namespace

int main(int argc, char **argv) {
  if (const int ended = isolation_main(argc, argv); ended >= 0) return ended;
  if (argc != 2) {
    std::fprintf(stderr, "usage: isolation_bench PLUGINS\n");
    return 2;
  }
  Registry registry = Registry::scan({argv[1]});
  const auto component = registry.open(ATALAYA_SOURCE, "steady");
  if (!component) {
    std::fprintf(stderr, "%s\n", component.error().c_str());
    return 1;
  }
  pin_to_this_core();
  std::printf(
      "CPU of both processes a batch, more than in one, on one core; median (min to max) of %d pairs; 3 tags, 15 fields a sample\n",
      kPairs);
  const double floor = floor_us();
  std::printf("%-52s %8.2f us\n", "two futexes and nothing else, the floor", floor);
  Bench ten(component.value(), 10), thousand(component.value(), 1000);
  bool good = true;
  const Spread few = ten.extra_us(2000, 0, kPairs);
  good = line("10 samples, back to back", few, std::max(5.0, floor + 2)) && good;
  const Spread many = thousand.extra_us(200, 0, kPairs);
  const double each = (many.median - few.median) * 1000 / 990;
  std::printf("%-52s %8.2f us (%.2f to %.2f)\n", "1,000 samples, back to back", many.median, many.low, many.high);
  std::printf("%-52s %8.2f ns, at most 30: %s\n", "a sample more, at 1,000", each, each <= 30 ? "yes" : "NO");
  good = good && each <= 30;
  good = line("10 samples, one batch a second", ten.extra_us(4, 1'000'000'000, 3), 60) && good;
  return good ? 0 : 1;
}
