// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process/process_model.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

namespace atalaya::proc {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

procfs::ProcessReading reading(int32_t pid, uint64_t start_s, int64_t at_s, uint64_t user_ns) {
  procfs::ProcessReading result;
  result.pid = pid;
  result.start_ns = start_s * kSecond;
  result.monotonic_ns = at_s * kSecond;
  result.counters.set(procfs::Counter::user_ns, user_ns);
  return result;
}

// Uptime and monotonic time run together here.
Pass pass(int64_t at_s, bool baseline = false) {
  return {at_s * kSecond, static_cast<uint64_t>(at_s) * kSecond, baseline};
}

const Process &one(ProcessModel &model, const Pass &when, const procfs::ProcessReading &values) {
  model.begin(when);
  model.update(values);
  model.end();
  return *model.live().front();
}

TEST_CASE("the first reading emits no rate, the second one over the time between the two passes") {
  ProcessModel model;
  CHECK_FALSE(one(model, pass(100), reading(7, 10, 100, 5 * kSecond)).rates.has(procfs::Counter::user_ns));
  const Process &process = one(model, pass(104), reading(7, 10, 105, 7 * kSecond));
  CHECK(process.rates.get(procfs::Counter::user_ns) == 0.5 * kSecond);
  CHECK_FALSE(process.rates.has(procfs::Counter::delay_ns));  // of which there was no reading
}

TEST_CASE("a counter that went down leaves a gap of one window, the others continue") {
  ProcessModel model;
  auto with_faults = [](int64_t at, uint64_t user, uint64_t faults) {
    auto result = reading(7, 10, at, user);
    result.counters.set(procfs::Counter::faults_minor, faults);
    return result;
  };
  one(model, pass(100), with_faults(100, 50, 500));
  const Process &reset = one(model, pass(101), with_faults(101, 40, 600));
  CHECK_FALSE(reset.rates.has(procfs::Counter::user_ns));
  CHECK(reset.rates.get(procfs::Counter::faults_minor) == 100);
  CHECK(one(model, pass(102), with_faults(102, 45, 600)).rates.get(procfs::Counter::user_ns) == 5);
}

TEST_CASE("a reading without counters leaves a gap; the next one reports the use meanwhile, not since the birth") {
  const auto exact = [](int64_t at_s, uint64_t exec_ns) {
    auto result = reading(7, 10, at_s, exec_ns);
    result.exec_ns = exec_ns;
    return result;
  };
  procfs::ProcessReading partial = exact(101, 0);
  partial.counters = {};
  partial.partial = true;
  ProcessModel model;
  one(model, pass(100), exact(100, 3600 * kSecond));
  const Process &gap = one(model, pass(101), partial);
  CHECK_FALSE(gap.rates.has(procfs::Counter::user_ns));
  CHECK_FALSE(gap.ran());
  CHECK(one(model, pass(102), exact(102, 3601 * kSecond)).rates.get(procfs::Counter::user_ns) == 0.5 * kSecond);
  // One that never had a whole reading.
  ProcessModel other;
  one(other, pass(101), partial);
  CHECK_FALSE(one(other, pass(102), exact(102, 3601 * kSecond)).rates.has(procfs::Counter::user_ns));
}

TEST_CASE("a pid that is used again is another process: its counters count from its birth") {
  ProcessModel model;
  one(model, pass(100), reading(7, 10, 100, 90 * kSecond));
  const Process &second = one(model, pass(102), reading(7, 101, 102, kSecond));
  CHECK(second.rates.get(procfs::Counter::user_ns) == 0.5 * kSecond);  // of the window of 2 s
}

TEST_CASE("a process that appears late, though it is older than the window, has no rate") {
  ProcessModel model;
  model.begin(pass(100));
  model.end();
  CHECK_FALSE(one(model, pass(102), reading(7, 99, 102, kSecond)).rates.has(procfs::Counter::user_ns));
}

TEST_CASE("without an uptime nothing is taken for born") {
  ProcessModel model;
  model.begin({100 * kSecond, std::nullopt, false});
  model.end();
  CHECK_FALSE(one(model, pass(102), reading(7, 101, 102, kSecond)).rates.has(procfs::Counter::user_ns));
}

TEST_CASE("a baseline takes the reading and emits no rate") {
  ProcessModel model;
  one(model, pass(100), reading(7, 10, 100, 0));
  CHECK_FALSE(one(model, pass(200, true), reading(7, 10, 200, 60 * kSecond)).rates.has(procfs::Counter::user_ns));
  CHECK(one(model, pass(201), reading(7, 10, 201, 61 * kSecond)).rates.get(procfs::Counter::user_ns) == kSecond);
}

TEST_CASE("a process that has ended is forgotten") {
  ProcessModel model;
  one(model, pass(100), reading(7, 10, 100, 0));
  CHECK(model.find(7) != nullptr);
  model.begin(pass(101));
  model.end();
  CHECK(model.live().empty());
  CHECK(model.find(7) == nullptr);
  model.begin(pass(141));
  model.end();
  CHECK_FALSE(one(model, pass(142), reading(7, 10, 142, kSecond)).rates.has(procfs::Counter::user_ns));
}

TEST_CASE("a process that ended recently still has its last reading, for the account of its end") {
  ProcessModel model;
  one(model, pass(100), reading(7, 10, 100, 5));
  model.begin(pass(101));
  model.end();
  model.begin(pass(102));
  CHECK(model.usage_since_last_reading(reading(7, 10, 102, 8)).value().get(procfs::Counter::user_ns) == 3);
  // The kernel's report was late: it started and ended between the first pass and the second.
  CHECK(model.usage_since_last_reading(reading(8, 100, 102, 9)).value().get(procfs::Counter::user_ns) == 9);
  CHECK_FALSE(model.usage_since_last_reading(reading(9, 10, 102, 9)));  // older than the first pass, and never seen: unknown
  model.end();
  model.begin(pass(103));
  CHECK_FALSE(model.usage_since_last_reading(reading(7, 10, 103, 8)));  // it was counted
  model.end();
}

TEST_CASE("the end of a process that was seen counts after a window of any length, and after another one has its pid") {
  for (const int64_t window_s : {1, 20, 600}) {
    ProcessModel model;
    const auto new_s = static_cast<uint64_t>(99 + window_s);
    one(model, pass(100), reading(7, 10, 100, 5 * kSecond));
    model.begin(pass(100 + window_s));
    model.update(reading(7, new_s, 100 + window_s, kSecond));
    CHECK(model.usage_since_last_reading(reading(7, 10, 100 + window_s, 8 * kSecond)).value().get(procfs::Counter::user_ns) ==
          3 * kSecond);
    CHECK_FALSE(model.live().front()->ended_now);
    CHECK(model.pass_includes(7, new_s * kSecond));
    CHECK_FALSE(model.pass_includes(7, 10 * kSecond));
    model.end();
  }
}

TEST_CASE("an unknown process is new, unless one as young was forgotten without an end") {
  ProcessModel model;
  one(model, pass(100), reading(7, 100, 100, 0));
  for (const int64_t at_s : {101, 141}) {
    model.begin(pass(at_s));
    model.end();
  }
  model.begin(pass(150));
  CHECK_FALSE(model.usage_since_last_reading(reading(7, 100, 150, 9)));
  CHECK(model.usage_since_last_reading(reading(8, 101, 150, 9)).value().get(procfs::Counter::user_ns) == 9);
  model.end();
}

TEST_CASE("a zombie whose end is reported apart counts once, whether the end comes before it or after it") {
  for (const bool before : {false, true}) {
    ProcessModel model;
    model.begin(pass(100));
    model.end();
    procfs::ProcessReading zombie = reading(7, 101, 102, 4);
    if (before) CHECK(model.usage_since_start(zombie).get(procfs::Counter::user_ns) == 4);
    model.begin(pass(102));
    zombie.ended = true;
    model.update(zombie);
    CHECK_FALSE(model.live().front()->rates.has(procfs::Counter::user_ns));
    if (!before) CHECK(model.usage_since_last_reading(zombie).value().get(procfs::Counter::user_ns) == 4);
    model.end();
    zombie.monotonic_ns += kSecond;
    CHECK_FALSE(one(model, pass(103), zombie).ran());
  }
}

TEST_CASE("the end of a process in any window, reaped or not, adds its last usage once") {
  std::mt19937 random(11);
  const auto below = [&](int64_t limit) { return std::uniform_int_distribution<int64_t>(0, limit - 1)(random); };
  for (int round = 0; round < 500; ++round) {
    ProcessModel model;
    one(model, pass(100), reading(7, 10, 100, 0));
    const int64_t end_s = 101 + below(4), reaped_s = end_s + below(3);
    const bool rests = below(2) == 0;
    uint64_t used = 0;
    double shown = 0;
    int ends = 0;
    for (int64_t at_s = 101; at_s < 110; ++at_s) {
      model.begin(pass(at_s));
      if (at_s <= end_s && !rests) used += static_cast<uint64_t>(below(50));
      if (at_s > reaped_s) {
        // reaped
      } else if (!rests || at_s > end_s) {
        model.update(reading(7, 10, at_s, used));
      } else {
        REQUIRE(model.mark_idle(7));
      }
      if (at_s == end_s) used += static_cast<uint64_t>(below(50));  // between the reading and the end
      const Counters last = at_s == end_s ? model.usage_since_last_reading(reading(7, 10, at_s, used)).value() : Counters();
      const Process *seen = model.find(7);
      CHECK((seen != nullptr) == (at_s <= reaped_s));
      if (seen != nullptr) shown += seen->rate(procfs::Counter::user_ns);
      if (seen != nullptr && seen->ended_now) ++ends;
      if (seen == nullptr && last.has(procfs::Counter::user_ns)) shown += static_cast<double>(last.get(procfs::Counter::user_ns));
      model.end();
    }
    CHECK(shown == used);
    CHECK(ends == 1);
  }
}

TEST_CASE("a process that rests has rates of 0, and one that runs again those of the last window") {
  ProcessModel model;
  CHECK_FALSE(model.mark_idle(7));
  one(model, pass(100), reading(7, 10, 100, 5));
  for (const int64_t at : {101, 102}) {
    model.begin(pass(at));
    REQUIRE(model.mark_idle(7));
    model.end();
    CHECK(model.find(7)->has_rate(procfs::Counter::user_ns));
    CHECK(model.find(7)->rate(procfs::Counter::user_ns) == 0);
    CHECK_FALSE(model.find(7)->has_rate(procfs::Counter::delay_ns));
  }
  CHECK(one(model, pass(103), reading(7, 10, 103, 65)).rate(procfs::Counter::user_ns) == 60);
}

TEST_CASE("exact CPU time is divided by the ticks of the same window, else of the life") {
  ProcessModel model;
  const auto exact = [](int64_t at, uint64_t exec, uint64_t user, uint64_t kernel) {
    auto result = reading(7, 10, at, user);
    result.counters.set(procfs::Counter::kernel_ns, kernel);
    result.exec_ns = exec;
    return result;
  };
  const auto rates = [](const Process &process) {
    return std::pair(process.rate(procfs::Counter::user_ns), process.rate(procfs::Counter::kernel_ns));
  };
  one(model, pass(100), exact(100, 1000, 300, 100));
  CHECK(rates(one(model, pass(101), exact(101, 1600, 600, 200))) == std::pair(450.0, 150.0));
  CHECK(rates(one(model, pass(102), exact(102, 1800, 600, 200))) == std::pair(150.0, 50.0));
  CHECK(model.used().user_ns == 150);
  CHECK(model.used().kernel_ns == 50);
  CHECK_FALSE(one(model, pass(103), exact(103, 1700, 600, 200)).has_rate(procfs::Counter::user_ns));  // a reset
}

TEST_CASE("a kernel thread works in the kernel, also without a tick that saw it") {
  ProcessModel model;
  auto thread = reading(7, 10, 100, 0);
  thread.kernel_thread = true;
  thread.exec_ns = 10;
  one(model, pass(100), thread);
  thread.exec_ns = 70;
  thread.monotonic_ns += kSecond;
  const Process &process = one(model, pass(101), thread);
  CHECK(process.rate(procfs::Counter::kernel_ns) == 60);
  CHECK(process.rate(procfs::Counter::user_ns) == 0);
}

TEST_CASE("readings may come in any order") {
  ProcessModel model;
  const auto all = [&](std::initializer_list<int32_t> pids, int64_t at) {
    model.begin(pass(at));
    for (const int32_t pid : pids) model.update(reading(pid, 10, at, static_cast<uint64_t>(at * pid)));
    model.end();
  };
  all({30, 10, 20, 40, 5}, 100);
  all({5, 40, 20, 10, 30, 25}, 101);
  CHECK(model.live().size() == 6);
  for (const int32_t pid : {5, 10, 20, 30, 40}) CHECK(model.find(pid)->rate(procfs::Counter::user_ns) == pid);
  all({20}, 102);
  CHECK(model.find(10) == nullptr);
  CHECK(model.find(20)->rate(procfs::Counter::user_ns) == 20);
}

TEST_CASE("two readings at the same time emit no rate") {
  ProcessModel model;
  one(model, pass(100), reading(7, 10, 100, 0));
  CHECK_FALSE(one(model, pass(100), reading(7, 10, 100, kSecond)).rates.has(procfs::Counter::user_ns));
}

// A host of a few pids whose processes run, sleep, end and are replaced, with counters that are reset now and then, windows of any
// length and passes that miss a process.
struct World {
  struct Life {
    uint64_t start = 0, used = 0;
  };
  static constexpr int kCores = 4;

  std::mt19937_64 random;
  uint64_t now = 1000 * static_cast<uint64_t>(kSecond);
  std::map<int32_t, Life> lives;

  uint64_t below(uint64_t limit) { return random() % limit; }
  void go_on() {
    const uint64_t step = 1 + below(below(2) == 0 ? 20'000'000 : 30 * static_cast<uint64_t>(kSecond));
    for (auto &[pid, life] : lives) life.used += below(kCores * step + 1);
    for (int32_t pid = 1; pid < 12; ++pid) {
      if (below(8) == 0) lives.erase(pid);
      if (below(4) != 0 || lives.count(pid) != 0) continue;
      const uint64_t age = below(step);
      lives[pid] = {now + step - age, below(kCores * age + 1)};
    }
    now += step;
    for (auto &[pid, life] : lives)
      if (below(20) == 0) life.used = below(life.used + 1);  // a reset
  }
};

TEST_CASE("for random readings no rate is negative or more than all cores can do") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    World world{.random = std::mt19937_64(seed)};
    ProcessModel model;
    size_t rates = 0;
    for (int i = 0; i < 60; ++i) {
      world.go_on();
      model.begin({static_cast<int64_t>(world.now), world.now, world.below(10) == 0});
      for (const auto &[pid, life] : world.lives) {
        if (world.below(15) == 0) continue;
        procfs::ProcessReading seen;
        seen.pid = pid;
        seen.start_ns = life.start / 10'000'000 * 10'000'000;  // in ticks
        seen.monotonic_ns = static_cast<int64_t>(world.now);
        seen.counters.set(procfs::Counter::user_ns, life.used);
        model.update(seen);
      }
      model.end();
      for (const Process *process : model.live()) {
        if (!process->rates.has(procfs::Counter::user_ns)) continue;
        ++rates;
        const double rate = process->rates.get(procfs::Counter::user_ns);
        REQUIRE(rate >= 0);
        REQUIRE(rate <= World::kCores * 1.000001 * static_cast<double>(kSecond));
      }
    }
    REQUIRE(rates > 0);
  }
}

}  // namespace
}  // namespace atalaya::proc
