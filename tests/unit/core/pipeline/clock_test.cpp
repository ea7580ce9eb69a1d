// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/clock.h"

#include <doctest/doctest.h>

#include <random>

using namespace atalaya::core;

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kNoise = 10 * kMillisecond;  // smaller differences of two clocks are noise of the reading
constexpr int64_t kHour = 3600 * kSecond;
constexpr int64_t kNoon = 1'795'262'400 * kSecond;  // a whole hour of Unix time

// A machine whose clocks the test moves.
struct Machine {
  ClockReading now{50 * kSecond, kNoon + 300 * kMillisecond, 50 * kSecond};
  void pass(int64_t ns) {
    now.monotonic += ns;
    now.realtime += ns;
    now.boottime += ns;
  }
  void pass_until(int64_t monotonic) { pass(std::max<int64_t>(monotonic - now.monotonic, 0)); }
  void step(int64_t ns) { now.realtime += ns; }
  void suspend(int64_t ns) {
    now.realtime += ns;
    now.boottime += ns;
  }
};

bool is_baseline(const WindowClock::Tick &tick) {
  return (tick.window.flags & ATALAYA_WINDOW_BASELINE) != 0;
}

// Brings a clock to its first whole window.
WindowClock::Tick run_in(WindowClock &clock, Machine &machine) {
  clock.tick(machine.now, false);
  machine.pass_until(clock.deadline());
  clock.tick(machine.now, false);
  machine.pass_until(clock.deadline());
  return clock.tick(machine.now, false);
}

}  // namespace

TEST_CASE("the first gauges come at once and the first rates with the first whole window") {
  WindowClock clock(5 * kSecond);
  Machine machine;
  CHECK(clock.deadline() <= machine.now.monotonic);
  const auto first = clock.tick(machine.now, false);
  CHECK(first.collect);
  CHECK(is_baseline(first));
  CHECK(first.window.time_ns == machine.now.realtime);
  CHECK(first.window.duration_ns == 0);

  machine.pass_until(clock.deadline());
  CHECK(machine.now.realtime == kNoon + 5 * kSecond);
  const auto partial = clock.tick(machine.now, false);
  CHECK(is_baseline(partial));
  CHECK(partial.window.time_ns == kNoon + 5 * kSecond);

  machine.pass_until(clock.deadline());
  const auto whole = clock.tick(machine.now, false);
  CHECK_FALSE(is_baseline(whole));
  CHECK(whole.window.time_ns == kNoon + 10 * kSecond);
  CHECK(whole.window.duration_ns == 5 * kSecond);
  CHECK(whole.gaps == 0);
}

TEST_CASE("missed windows are one longer window and a count of gaps, not a replay") {
  WindowClock clock(kSecond);
  Machine machine;
  const auto before = run_in(clock, machine);
  machine.pass(4 * kSecond + 200 * kMillisecond);
  const auto late = clock.tick(machine.now, false);
  CHECK(late.window.time_ns == before.window.time_ns + 4 * kSecond + 200 * kMillisecond);
  CHECK(late.window.duration_ns == 4 * kSecond + 200 * kMillisecond);
  CHECK(late.gaps == 3);
  CHECK(clock.deadline() == machine.now.monotonic + 800 * kMillisecond);
}

TEST_CASE("a window that would be shorter than half its length joins the next one") {
  WindowClock clock(kSecond);
  Machine machine;
  const auto before = run_in(clock, machine);
  machine.pass(kSecond + 700 * kMillisecond);
  CHECK(clock.tick(machine.now, false).collect);
  machine.pass_until(clock.deadline());
  const auto skipped = clock.tick(machine.now, false);
  CHECK_FALSE(skipped.collect);
  CHECK(skipped.gaps == 1);
  machine.pass_until(clock.deadline());
  const auto joined = clock.tick(machine.now, false);
  CHECK(joined.collect);
  CHECK(joined.window.time_ns == before.window.time_ns + 3 * kSecond);
  CHECK(joined.window.duration_ns == 2 * kSecond - 700 * kMillisecond);
}

TEST_CASE("a paused pipeline collects nothing and its next window covers the pause") {
  WindowClock clock(kSecond);
  Machine machine;
  run_in(clock, machine);
  for (int i = 0; i < 3; ++i) {
    machine.pass_until(clock.deadline());
    const auto paused = clock.tick(machine.now, true);
    CHECK_FALSE(paused.collect);
    CHECK(paused.gaps == 1);
  }
  machine.pass_until(clock.deadline());
  const auto after = clock.tick(machine.now, false);
  CHECK(after.window.duration_ns == 4 * kSecond);
  CHECK(after.gaps == 0);
}

TEST_CASE("after a clock step or a suspend the windows start again with a baseline") {
  const auto check = [](void (*disturb)(Machine &)) {
    WindowClock clock(kSecond);
    Machine machine;
    run_in(clock, machine);
    machine.pass(400 * kMillisecond);
    disturb(machine);
    machine.pass_until(clock.deadline());
    const auto tick = clock.tick(machine.now, false);
    CHECK(tick.collect);
    CHECK(is_baseline(tick));
    CHECK(tick.window.time_ns == machine.now.realtime);
    CHECK(tick.gaps == 1);
    // And the next ones are aligned again, within two intervals.
    machine.pass_until(clock.deadline());
    const auto next = clock.tick(machine.now, false);
    CHECK(next.window.time_ns % kSecond == 0);
    machine.pass_until(clock.deadline());
    CHECK_FALSE(is_baseline(clock.tick(machine.now, false)));
  };
  check([](Machine &machine) { machine.step(kHour + 123 * kMillisecond); });
  check([](Machine &machine) { machine.step(-kHour - 456 * kMillisecond); });
  check([](Machine &machine) { machine.suspend(2 * kHour); });
}

TEST_CASE("a collection within 1 % of the interval is punctual") {
  WindowClock clock(kSecond);
  Machine machine;
  const auto before = run_in(clock, machine);
  machine.pass(kSecond + 9'900'000);
  const auto punctual = clock.tick(machine.now, false);
  CHECK(punctual.window.time_ns == before.window.time_ns + kSecond);
  CHECK(punctual.window.duration_ns == kSecond);
  CHECK(punctual.window.monotonic_ns == before.window.monotonic_ns + kSecond);
}

// The amount law: a source divides the growth of a counter by the difference of monotonic_ns, and a store multiplies by
// duration_ns. The counter here grows at a rate that changes all the time; the sum of the parts is its growth.
TEST_CASE("for any lateness, windows follow one another and the sum of rate x duration is the growth of the counter") {
  std::mt19937_64 random(20261129);
  for (const int64_t interval :
       {100 * kMillisecond, 200 * kMillisecond, kSecond, 5 * kSecond, 20 * kSecond, 60 * kSecond, 600 * kSecond}) {
    CAPTURE(interval);
    WindowClock clock(interval);
    Machine machine;
    int64_t counter = 0, counted = 0, read_ns = 0, monotonic_ns = 0, end_ns = 0, first = -1;
    double amount = 0;
    const auto pass = [&](int64_t ns) {
      for (int64_t passed = 0; passed < ns; passed += std::max<int64_t>(ns / 4, 1)) {
        const int64_t part = std::min(std::max<int64_t>(ns / 4, 1), ns - passed);
        counter += part * static_cast<int64_t>(random() % 3);
        machine.pass(part);
      }
    };
    for (int i = 0; i < 500; ++i) {
      pass(std::max<int64_t>(clock.deadline() - machine.now.monotonic, 0));
      pass(static_cast<int64_t>(random() % static_cast<uint64_t>(random() % 20 == 0 ? 3 * interval : interval / 2)));
      const auto tick = clock.tick(machine.now, random() % 20 == 0);
      if (!tick.collect) continue;
      const atalaya_window &window = tick.window;
      if (!is_baseline(tick)) {
        REQUIRE(window.duration_ns == window.monotonic_ns - monotonic_ns);
        const double growth = static_cast<double>(counter - counted);
        const double rate = growth / static_cast<double>(window.monotonic_ns - monotonic_ns);
        amount += rate * static_cast<double>(window.duration_ns);
        // The counter grew by not more than 2 a ns, and no rate is above that by more than the rounding of a reading.
        const double real = growth / static_cast<double>(machine.now.monotonic - read_ns);
        REQUIRE(rate <= real * 1.021);
        REQUIRE(rate >= real * 0.979);
        if (first >= 0 && end_ns != 0) REQUIRE(window.time_ns - window.duration_ns == end_ns);
        end_ns = window.time_ns;
      }
      if (is_baseline(tick)) first = counter;
      counted = counter;
      monotonic_ns = window.monotonic_ns;
      read_ns = machine.now.monotonic;
    }
    REQUIRE(first >= 0);
    CHECK(amount == doctest::Approx(static_cast<double>(counted - first)).epsilon(1e-12));
  }
}

TEST_CASE("slewing by NTP is not a step") {
  WindowClock clock(60 * kSecond);
  Machine machine;
  run_in(clock, machine);
  machine.pass_until(clock.deadline());
  machine.step(30 * kMillisecond);
  CHECK_FALSE(is_baseline(clock.tick(machine.now, false)));
}

TEST_CASE("for any steps of the clocks, windows with rates never overlap and end on parts of the interval") {
  std::mt19937_64 random(20261121);
  for (int round = 0; round < 200; ++round) {
    const int64_t interval = kSecond * (1 + static_cast<int64_t>(random() % 20));
    WindowClock clock(interval);
    Machine machine;
    int64_t covered_until = INT64_MIN;
    for (int i = 0; i < 100; ++i) {
      machine.pass_until(clock.deadline());
      machine.pass(static_cast<int64_t>(random() % 100) * kMillisecond);
      bool disturbed = true;
      switch (random() % 20) {
        case 0:
          machine.step(static_cast<int64_t>(random() % (2 * kHour)) - kHour);
          break;
        case 1:
          machine.suspend(static_cast<int64_t>(random() % kHour));
          break;
        case 2:
          machine.pass(static_cast<int64_t>(random() % (5 * static_cast<uint64_t>(interval))));
          [[fallthrough]];
        default:
          disturbed = false;
      }
      if (disturbed) covered_until = INT64_MIN;
      const auto tick = clock.tick(machine.now, random() % 10 == 0);
      if (!tick.collect) continue;
      CHECK(tick.window.duration_ns >= 0);
      if (is_baseline(tick)) {
        CHECK(tick.window.duration_ns == 0);
        continue;
      }
      CHECK(tick.window.time_ns % (interval / 100) == 0);
      CHECK(tick.window.time_ns > machine.now.realtime - interval / 100 - kNoise);
      CHECK(tick.window.time_ns <= machine.now.realtime + kNoise);
      CHECK(tick.window.duration_ns >= interval / 2);
      CHECK(tick.window.time_ns - tick.window.duration_ns >= covered_until);
      covered_until = tick.window.time_ns;
      CHECK(clock.deadline() > machine.now.monotonic);
      CHECK(clock.deadline() <= machine.now.monotonic + interval);
    }
  }
}
