// SPDX-License-Identifier: Apache-2.0
// The oracle is the list of all collections; the counters follow from it as in HotSpot: the number and the entry when one begins,
// the exit and the time when it ends.
#include "plugins/sources/jvm/pauses.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace atalaya::jvm {
namespace {

constexpr int64_t kFrequency = 1'000'000'000, kMs = 1'000'000;

struct Collection {
  int collector = 0;  // 0 young, 1 full, 2 concurrent
  int64_t begin = 0, end = 0;
};

JvmCounters counters_at(const std::vector<Collection> &all, int64_t time) {
  static constexpr std::array<std::array<Counter, 4>, 3> kOf = {{
      {Counter::young_count, Counter::young_ticks, Counter::young_entry, Counter::young_exit},
      {Counter::full_count, Counter::full_ticks, Counter::full_entry, Counter::full_exit},
      {Counter::concurrent_count, Counter::concurrent_ticks, Counter::concurrent_entry, Counter::concurrent_exit},
  }};
  JvmCounters made;
  const auto at = [&made](Counter counter) -> std::optional<int64_t> & { return made.numbers[static_cast<size_t>(counter)]; };
  at(Counter::frequency) = kFrequency;
  for (const auto &counters : kOf)
    for (const Counter counter : counters) at(counter) = 0;
  for (const Collection &one : all) {
    const auto &of = kOf.at(static_cast<size_t>(one.collector));
    if (one.begin <= time) ++*at(of[0]);
    if (one.begin <= time) at(of[2]) = one.begin;
    if (one.end <= time) *at(of[1]) += one.end - one.begin;
    if (one.end <= time) at(of[3]) = one.end;
  }
  return made;
}

std::vector<int64_t> ended(const std::vector<Collection> &all, int64_t from, int64_t to) {
  std::vector<int64_t> lengths;
  for (const Collection &one : all)
    if (one.end > from && one.end <= to) lengths.push_back(one.end - one.begin);
  return lengths;
}

}  // namespace

TEST_CASE("pauses of random lives: number and mean are exact, the longest is exact or a lower bound, over all windows") {
  size_t exact = 0, bounds = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::minstd_rand random(seed);
    const auto draw = [&random](int64_t below) { return static_cast<int64_t>(random() % static_cast<uint64_t>(below)); };
    std::vector<Collection> all;
    const int64_t gap = 1 + draw(900);
    for (int64_t time = kMs; time < 10'000 * kMs;) {
      const int64_t length = (1 + draw(draw(10) == 0 ? 800 : 20)) * kMs;
      all.push_back({static_cast<int>(draw(3)), time, time + length});
      time += length + (1 + draw(gap)) * kMs;
    }
    int64_t count = 0;
    JvmCounters before = counters_at(all, 0);
    for (int64_t from = 0, to = 0; from < 12'000 * kMs; from = to) {
      to = from + (1 + draw(1500)) * kMs;
      JvmCounters now = counters_at(all, to);
      const auto lengths = ended(all, from, to);
      const auto pauses = pauses_between(before, now);
      before = now;
      REQUIRE(pauses);
      count += pauses->count;
      REQUIRE(pauses->count == static_cast<int64_t>(lengths.size()));
      REQUIRE(pauses->mean_ms.has_value() == !lengths.empty());
      REQUIRE(pauses->longest_ms.has_value() == !lengths.empty());
      if (lengths.empty()) continue;
      int64_t sum = 0;
      for (const int64_t length : lengths) sum += length;
      const double longest = static_cast<double>(*std::max_element(lengths.begin(), lengths.end())) / kMs;
      CHECK(*pauses->mean_ms * static_cast<double>(lengths.size()) == doctest::Approx(static_cast<double>(sum) / kMs));
      CHECK(*pauses->longest_ms <= longest + 1e-9);
      CHECK(*pauses->longest_ms >= *pauses->mean_ms - 1e-6 - 1e-3 * *pauses->mean_ms);
      if (pauses->is_exact) CHECK(*pauses->longest_ms == doctest::Approx(longest));
      if (lengths.size() == 1) CHECK(pauses->is_exact);
      ++(pauses->is_exact ? exact : bounds);
    }
    CHECK(count == static_cast<int64_t>(all.size()));
  }
  CHECK(exact > 500);
  CHECK(bounds > 500);
}

TEST_CASE("two collections of one collector: both lengths follow from the last one and the sum") {
  const std::vector<Collection> all = {{0, 10 * kMs, 40 * kMs}, {0, 50 * kMs, 55 * kMs}};
  const auto pauses = pauses_between(counters_at(all, 0), counters_at(all, 100 * kMs));
  REQUIRE(pauses);
  CHECK(pauses->is_exact);
  CHECK(*pauses->longest_ms == doctest::Approx(30));
}

TEST_CASE("a long last collection is the longest of any number; a running one hides the last that ended") {
  const std::vector<Collection> all = {
      {1, 10 * kMs, 12 * kMs}, {1, 20 * kMs, 23 * kMs}, {1, 30 * kMs, 31 * kMs}, {1, 40 * kMs, 90 * kMs}};
  const auto whole = pauses_between(counters_at(all, 0), counters_at(all, 100 * kMs));
  CHECK(whole->is_exact);
  CHECK(*whole->longest_ms == doctest::Approx(50));
  const auto part = pauses_between(counters_at(all, 0), counters_at(all, 60 * kMs));
  CHECK(part->count == 3);
  CHECK_FALSE(part->is_exact);
  CHECK(*part->longest_ms == doctest::Approx(2));
}

TEST_CASE("no pauses of a JVM without the counters or the frequency, nor when a counter goes down") {
  const std::vector<Collection> all = {{0, 10 * kMs, 40 * kMs}};
  JvmCounters now = counters_at(all, 100 * kMs);
  CHECK_FALSE(pauses_between(now, counters_at(all, 0)));
  CHECK_FALSE(pauses_between(JvmCounters(), now));
  CHECK_FALSE(pauses_between(JvmCounters(), JvmCounters()));
  now.numbers[static_cast<size_t>(Counter::frequency)].reset();
  CHECK_FALSE(pauses_between(counters_at(all, 0), now));
}

}  // namespace atalaya::jvm
