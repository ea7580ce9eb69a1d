// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/power/energy_meter.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>

#include "tests/unit/host/power/machines.h"

namespace atalaya::power {
namespace {

using namespace test;
using doctest::Approx;

Zone zone(uint64_t range, double max_watts = kMaxWatts) {
  Zone result;
  result.name = "package-0";
  result.range = range;
  result.max_watts = max_watts;
  return result;
}

struct Metered {
  explicit Metered(Zone one) : counters(new FakeCounters({std::move(one)})), meter(std::unique_ptr<EnergyCounters>(counters)) {}
  std::optional<Energy> take(std::optional<uint64_t> value, int64_t second) {
    counters->values[0] = value;
    return meter.take(second * kSecond)[0];
  }
  FakeCounters *counters;
  EnergyMeter meter;
};

TEST_CASE("energy is the difference of two readings") {
  Metered one(zone(1'000'000'000));
  CHECK_FALSE(one.take(5'000'000, 10));
  const auto energy = one.take(25'000'000, 15);
  REQUIRE(energy);
  CHECK(energy->joules == Approx(20));
  CHECK(energy->seconds == Approx(5));
  CHECK(energy->watts() == Approx(4));
}

TEST_CASE("power times the length of the window is the energy, however late the counter was read") {
  Metered one(zone(1'000'000'000));
  one.counters->values[0] = 0;
  one.meter.take(10 * kSecond + kSecond / 3, 10 * kSecond);
  one.counters->values[0] = 20'000'000;
  const auto energy = one.meter.take(15 * kSecond + kSecond / 7, 15 * kSecond)[0];
  REQUIRE(energy);
  CHECK(energy->joules == Approx(20));
  CHECK(energy->watts() * 5 == Approx(energy->joules));
}

TEST_CASE("an unchanged counter of a package or platform is not measured; a part of a package may rest") {
  for (const Domain domain : {Domain::package, Domain::platform, Domain::cores, Domain::graphics, Domain::memory, Domain::core}) {
    CAPTURE(static_cast<int>(domain));
    Zone counts = zone(1'000'000'000);
    counts.domain = domain;
    Metered one(counts);
    one.take(5'000'000, 0);
    const auto still = one.take(5'000'000, 5);
    const bool draws = domain == Domain::package || domain == Domain::platform;
    CHECK(still.has_value() == !draws);
    if (still) CHECK(still->joules == 0);
    CHECK(one.meter.stopped_zone() == (draws ? counts.name : ""));
    const auto again = one.take(15'000'000, 10);
    REQUIRE(again);
    CHECK(again->joules == Approx(10));
    CHECK(again->seconds == Approx(5));
  }
}

TEST_CASE("in less than 100 ms a package may have nothing to count: the next window has the energy of both, of all zones") {
  Zone first = zone(1'000'000'000), second = first;
  second.name = "package-1";
  auto made = std::make_unique<FakeCounters>(std::vector{first, second});
  FakeCounters &counters = *made;
  EnergyMeter meter(std::move(made));
  const auto take = [&](uint64_t of_first, uint64_t of_second, int64_t milliseconds) {
    counters.values = {of_first, of_second};
    return meter.take(milliseconds * kSecond / 1000);
  };
  take(1'000'000, 1'000'000, 0);
  auto energy = take(1'000'000, 3'000'000, 50);
  CHECK_FALSE(energy[0]);
  CHECK_FALSE(energy[1]);
  energy = take(2'000'000, 4'000'000, 90);
  REQUIRE(energy[0]);
  REQUIRE(energy[1]);
  CHECK(energy[0]->joules == Approx(1));
  CHECK(energy[1]->joules == Approx(3));
  CHECK(energy[1]->seconds == Approx(0.09));

  energy = take(2'000'000, 5'000'000, 140);
  CHECK_FALSE(energy[1]);
  energy = take(2'000'000, 6'000'000, 190);  // long enough: it counts as stopped
  CHECK_FALSE(energy[0]);
  REQUIRE(energy[1]);
  CHECK(energy[1]->joules == Approx(2));
}

TEST_CASE("a counter that was full continues at 0 by the range that the kernel publishes") {
  Metered one(zone(262'143'328'850, 300));
  one.take(262'143'328'850 - 99'999'999, 0);
  CHECK(one.take(400'000'000, 5)->joules == Approx(500));
}

TEST_CASE("a counter that was reset leaves a gap, not an energy") {
  Metered one(zone(262'143'328'850, 300));
  one.take(10'000'000'000, 0);
  CHECK_FALSE(one.take(1'000'000, 5));                      // as a wrap it would be 50 kW
  CHECK(one.take(101'000'000, 10)->joules == Approx(100));  // and continues from there
}

TEST_CASE("a reading above the maximum power of the package is no energy") {
  Metered one(zone(262'143'328'850, 300));
  one.take(0, 0);
  CHECK_FALSE(one.take(10'000'000'000, 5));
  CHECK(one.take(10'100'000'000, 10)->joules == Approx(100));
}

TEST_CASE("a value beyond the published range is not understood") {
  CHECK_FALSE(counts_between(zone(100), 200, 50, 1e9));
  CHECK(counts_between(zone(100), 100, 0, 1e9) == 1);
}

TEST_CASE("a failed reading leaves its window out, and the next one starts again") {
  Metered one(zone(1'000'000'000));
  one.take(0, 0);
  CHECK_FALSE(one.take(std::nullopt, 5));
  CHECK_FALSE(one.take(50'000'000, 10));
  CHECK(one.take(60'000'000, 15)->joules == Approx(10));
}

TEST_CASE("a failed reading between two windows does too") {
  Metered one(zone(1'000'000'000));
  one.take(0, 0);
  one.counters->values[0] = std::nullopt;
  one.meter.poll(2 * kSecond);
  CHECK_FALSE(one.take(30'000'000, 5));
  CHECK(one.take(60'000'000, 10)->joules == Approx(30));
}

TEST_CASE("after forget the energy is absent until the second reading") {
  Metered one(zone(1'000'000'000));
  one.take(0, 0);
  one.meter.forget();
  CHECK_FALSE(one.take(50'000'000, 5));
  CHECK(one.take(60'000'000, 10)->joules == Approx(10));
}

TEST_CASE("readings in between keep several wraps of one window") {
  Metered one(zone(999'999'999, 500));  // full after 2 s at 500 W
  one.take(0, 0);
  CHECK(one.meter.max_interval_ns() == Approx(1e9).epsilon(0.01));
  uint64_t counts = 0;
  for (int64_t second = 1; second < 60; ++second) {
    counts += 400'000'000;
    one.counters->values[0] = counts % 1'000'000'000;
    one.meter.poll(second * kSecond);
  }
  CHECK(one.take((counts + 400'000'000) % 1'000'000'000, 60)->joules == Approx(24000));
}

TEST_CASE("a reading in between that came after the time of the question is no gap") {
  Metered one(zone(1'000'000'000));
  one.take(0, 0);
  one.counters->values[0] = 50'000'000;
  one.meter.poll(5 * kSecond + 1);
  const auto energy = one.take(50'000'000, 5);
  REQUIRE(energy);
  CHECK(energy->joules == Approx(50));
  CHECK(one.take(60'000'000, 10)->joules == Approx(10));
}

TEST_CASE("when the counters are others, those that stayed continue and those that came begin") {
  Zone stays = zone(1'000'000'000), goes = stays, comes = stays;
  goes.name = "package-1";
  comes.name = "package-2";
  EnergyMeter meter(std::make_unique<FakeCounters>(std::vector{goes, stays}));
  meter.take(0);
  auto counters = std::make_unique<FakeCounters>(std::vector{stays, comes});
  counters->values = {20'000'000, 30'000'000};
  FakeCounters &now = *counters;
  meter.change(std::move(counters));
  auto energy = meter.take(5 * kSecond);
  REQUIRE(energy.size() == 2);
  REQUIRE(energy[0]);
  CHECK(energy[0]->joules == Approx(20));
  CHECK_FALSE(energy[1]);
  now.values = {20'000'000, 40'000'000};
  energy = meter.take(10 * kSecond);
  REQUIRE(energy[1]);
  CHECK(energy[1]->joules == Approx(10));

  // The same name by other counts is another counter.
  stays.joules = 1.0 / 65536;
  auto registers = std::make_unique<FakeCounters>(std::vector{stays});
  registers->values = {40'000'000};
  meter.change(std::move(registers));
  CHECK_FALSE(meter.take(15 * kSecond)[0]);
}

// Counts as the machine does, and records the time of each reading.
class Watched final : public EnergyCounters {
 public:
  explicit Watched(Zone zone) : zones_({std::move(zone)}) {}
  const std::vector<Zone> &zones() const override { return zones_; }
  std::optional<uint64_t> read(size_t) override {
    const std::lock_guard lock(mutex_);
    ++readings_;
    changed_.notify_all();
    return 0;
  }
  void await(int readings) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return readings_ >= readings; });
  }
  int readings() {
    const std::lock_guard lock(mutex_);
    return readings_;
  }

 private:
  std::vector<Zone> zones_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int readings_ = 0;
};

TEST_CASE("a meter reads by itself when windows are longer than the counter lasts, and only then") {
  auto counters = std::make_unique<Watched>(zone(1'000'000, 1000));  // full after 1 ms
  Watched &watched = *counters;
  EnergyMeter meter(std::move(counters));
  meter.start_polling(meter.max_interval_ns());
  CHECK(watched.readings() == 0);
  meter.start_polling(60 * kSecond);
  meter.start_polling(60 * kSecond);
  watched.await(5);
  meter.stop();
  meter.stop();
  const int read = watched.readings();
  meter.poll(INT64_MAX);
  CHECK(watched.readings() == read + 1);
}

TEST_CASE("a day of windows: the report is the usage, over every wrap, and never more than the package can draw") {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> load(5, 290);
  Zone amd = zone(65'532'610'987, 300);  // wraps after 4 to 200 minutes
  Metered one(amd);
  double used = 0, reported = 0;
  uint64_t counts = 65'000'000'000;
  one.take(counts, 0);
  int wraps = 0;
  for (int64_t second = 5; second <= 86400; second += 5) {
    const double joules = load(random) * 5;
    used += joules;
    const uint64_t next = (counts + static_cast<uint64_t>(joules * 1e6)) % (amd.range + 1);
    wraps += next < counts ? 1 : 0;
    counts = next;
    const auto energy = one.take(counts, second);
    REQUIRE(energy);
    REQUIRE(energy->watts() <= 300);
    reported += energy->joules;
  }
  CHECK(wraps > 100);
  CHECK(reported == Approx(used).epsilon(0.001));
}

}  // namespace
}  // namespace atalaya::power
