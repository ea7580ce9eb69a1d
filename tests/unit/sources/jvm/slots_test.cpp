// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/profile/slots.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

namespace atalaya::jvm {
namespace {

uint64_t seed() {
  const char *text = std::getenv("ATALAYA_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device()();
}

// The rule of the sampler, with few slots.
struct Slots {
  size_t maximum;
  std::vector<Candidate> sampled, waiting;

  bool add(Candidate one) {
    if (sampled.size() >= maximum) {
      const auto found = to_replace(sampled, one.user);
      if (!found) return false;
      waiting.push_back(sampled[*found]);
      sampled.erase(sampled.begin() + static_cast<std::ptrdiff_t>(*found));
    }
    sampled.push_back(one);
    return true;
  }
  void end(size_t at) {
    sampled.erase(sampled.begin() + static_cast<std::ptrdiff_t>(at));
    const auto found = to_admit(waiting, sampled);
    if (!found) return;
    sampled.push_back(waiting[*found]);
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(*found));
  }
  size_t of(uint32_t user) const {
    return static_cast<size_t>(std::count_if(sampled.begin(), sampled.end(), [=](const auto &one) { return one.user == user; }));
  }
};

}  // namespace

TEST_CASE("one user with 260 JVMs leaves slots for others, and the one idle for longest makes room") {
  Slots slots{.maximum = 256, .sampled = {}, .waiting = {}};
  for (int64_t i = 0; i < 260; ++i) slots.add({.user = 1, .active_ns = i == 7 ? 0 : 1000 + i});
  CHECK(slots.of(1) == 256);
  CHECK(slots.add({.user = 2, .active_ns = 0}));
  CHECK(slots.of(2) == 1);
  REQUIRE(slots.waiting.size() == 1);
  CHECK(slots.waiting[0].active_ns == 0);
  CHECK(slots.add({.user = 2, .active_ns = 0}));
  CHECK(slots.waiting[1].active_ns == 1000);
  CHECK_FALSE(slots.add({.user = 1, .active_ns = 0}));
}

TEST_CASE("a free slot is for the user with the fewest, and for the one that was active last") {
  Slots slots{.maximum = 3, .sampled = {{1, 5}, {1, 6}, {2, 7}}, .waiting = {{1, 9}, {2, 3}, {2, 4}}};
  slots.end(0);
  CHECK(slots.sampled.back().user == 1);  // 1 and 2 have one each: the most active
  slots.end(0);
  CHECK(slots.sampled.back().active_ns == 4);
}

TEST_CASE("whatever comes and ends, a user without a slot for one more has at least as many as any other, but one") {
  const uint64_t first = seed();
  for (uint64_t round = 0; round < 200; ++round) {
    CAPTURE(first + round);
    std::mt19937_64 random(first + round);
    Slots slots{.maximum = 1 + random() % 12, .sampled = {}, .waiting = {}};
    for (int i = 0; i < 200; ++i) {
      const auto user = static_cast<uint32_t>(random() % 5 % (1 + random() % 5));
      if (random() % 4 == 0 && !slots.sampled.empty()) {
        slots.end(random() % slots.sampled.size());
        CHECK((slots.waiting.empty() || slots.sampled.size() == slots.maximum));
      } else if (!slots.add({user, static_cast<int64_t>(random() % 100)})) {
        for (uint32_t other = 0; other < 5; ++other) CHECK(slots.of(other) <= slots.of(user) + 1);
      }
      CHECK(slots.sampled.size() <= slots.maximum);
    }
  }
}

}  // namespace atalaya::jvm
