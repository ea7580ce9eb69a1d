// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/pauses.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/unit/sources/jvm/collections.h"

namespace atalaya::jvm {
namespace {

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
    const std::vector<Collection> all = random_collections(draw, 10'000 * kMs, 800);
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
