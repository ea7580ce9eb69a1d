// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/pause_time.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <variant>
#include <vector>

#include "plugins/sources/jvm/numbers.h"
#include "tests/unit/sources/jvm/collections.h"

namespace atalaya::jvm {
namespace {

constexpr int64_t kStart = 7'000'000'000'000;  // of the JVM's ticks, in the clock of the readings
constexpr int64_t kTicks = 50 * kMs;           // between two updates of the counter of ticks

std::optional<double> share(std::string_view name, const Reading &now, const Reading &before) {
  for (const CounterMetric &metric : kCounterMetrics) {
    if (metric.name != name) continue;
    const auto number = number_of(metric, now, &before);
    return number ? std::optional(std::get<double>(*number)) : std::nullopt;
  }
  return std::nullopt;
}

JvmCounters with_ticks(JvmCounters counters, int64_t time) {
  counters.numbers[static_cast<size_t>(Counter::ticks)] = time / kTicks * kTicks;
  return counters;
}

// Time in collections from one time to another.
int64_t collected(const std::vector<Collection> &all, int64_t from, int64_t to) {
  int64_t sum = 0;
  for (const Collection &one : all) sum += std::max<int64_t>(std::min(one.end, to) - std::max(one.begin, from), 0);
  return sum;
}

// Reads as the collector does: its thread may wait at any step, as on a busy host.
class Readings {
 public:
  Reading at(const JvmCounters &counters, int64_t time, int64_t waits_before, int64_t waits_after) {
    Reading now{counters, kStart + time - waits_before};
    clock_.update(counters, kStart + time + waits_after);
    now.paused = count_pauses(counters, now.time_ns, clock_, before_ ? &before_->paused : nullptr,
                              before_ ? now.time_ns - before_->time_ns : 0);
    before_ = now;
    return now;
  }

 private:
  JvmClock clock_;
  std::optional<Reading> before_;
};

}  // namespace

TEST_CASE("no window has more than its length of collections, and all windows together have all of them") {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::minstd_rand random(seed);
    const auto draw = [&random](int64_t below) { return static_cast<int64_t>(random() % static_cast<uint64_t>(below)); };
    const auto wait = [&draw] { return draw(4) == 0 ? draw(300) * kMs : draw(100'000); };
    const std::vector<Collection> all = random_collections(draw, 20'000 * kMs, 5000);
    Readings readings;
    Reading before = readings.at(with_ticks(counters_at(all, 0), 0), 0, 0, 0);
    double sum_ns = 0;
    int64_t time = 0;
    // The last windows have what was left.
    for (int64_t at = 0; at < 40'000 * kMs; at += 1000 * kMs) {
      const int64_t before_ns = wait(), after_ns = wait();
      time = std::max(at + before_ns, time + 1);
      const Reading now = readings.at(with_ticks(counters_at(all, time), time), time, time - at, after_ns);
      if (now.time_ns <= before.time_ns) continue;
      const double young = share("jvm.gc.young.time", now, before).value(), full = share("jvm.gc.full.time", now, before).value();
      const double concurrent = share("jvm.gc.concurrent.time", now, before).value();
      const double sum = share("jvm.gc.time", now, before).value();
      for (const double one : {young, full, concurrent, sum}) {
        CHECK(one >= 0);
        CHECK(one <= 100);
      }
      CHECK(sum == doctest::Approx(young + full + concurrent).epsilon(1e-4));
      sum_ns += sum / 100 * static_cast<double>(now.time_ns - before.time_ns);
      before = now;
    }
    CHECK(sum_ns == doctest::Approx(static_cast<double>(collected(all, 0, time))).epsilon(1e-3));
  }
}

TEST_CASE("a long collection counts in each window in which it lasts, to within the step of the JVM's ticks") {
  const std::vector<Collection> all = {{0, 2300 * kMs, 2310 * kMs}, {1, 3500 * kMs, 9250 * kMs}, {0, 9300 * kMs, 9400 * kMs}};
  Readings readings;
  Reading before = readings.at(with_ticks(counters_at(all, 10 * kMs), 10 * kMs), 10 * kMs, 0, 0);
  for (int64_t time = 1010 * kMs; time < 12'000 * kMs; time += 1000 * kMs) {
    const Reading now = readings.at(with_ticks(counters_at(all, time), time), time, 0, 0);
    const double wanted = static_cast<double>(collected(all, time - 1000 * kMs, time)) / (10 * kMs);
    CAPTURE(time);
    CHECK(std::abs(share("jvm.gc.time", now, before).value() - wanted) <= 100.0 * kTicks / (1000 * kMs));
    before = now;
  }
}

TEST_CASE("a safepoint lasts at least as long as the collection in it") {
  std::vector<Collection> all = {{0, 500 * kMs, 3000 * kMs}};
  const auto counters = [&all](int64_t time) {
    JvmCounters made = with_ticks(counters_at(all, time), time);
    made.numbers[static_cast<size_t>(Counter::safepoint_ticks)] = time < 3000 * kMs ? 0 : 2500 * kMs;
    return made;
  };
  Readings readings;
  const Reading first = readings.at(counters(1000 * kMs), 1000 * kMs, 0, 0);
  const Reading second = readings.at(counters(2000 * kMs), 2000 * kMs, 0, 0);
  const Reading third = readings.at(counters(4000 * kMs), 4000 * kMs, 0, 0);
  CHECK(share("jvm.safepoint.time", second, first) == 100.0);
  CHECK(share("jvm.safepoint.time", third, second) == 50.0);
}

TEST_CASE("without the JVM's ticks a collection that is longer than its last window continues after it") {
  const std::vector<Collection> all = {{1, 100 * kMs, 2400 * kMs}};
  const auto at = [&all](int64_t time) {
    JvmCounters counters = counters_at(all, time);
    counters.numbers[static_cast<size_t>(Counter::full_entry)].reset();
    return counters;
  };
  Readings readings;
  Reading before = readings.at(at(0), 0, 0, 0);
  std::vector<double> shares;
  for (int64_t time = 1000 * kMs; time <= 6000 * kMs; time += 1000 * kMs) {
    const Reading now = readings.at(at(time), time, 0, 0);
    shares.push_back(share("jvm.gc.full.time", now, before).value());
    before = now;
  }
  CHECK(shares == std::vector<double>{0, 0, 100, 100, 30, 0});
}

}  // namespace atalaya::jvm
