// SPDX-License-Identifier: Apache-2.0
#include "core/delivery/spool.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "tests/unit/core/delivery/spool_fixture.h"

using namespace atalaya::core;
using namespace atalaya::core::test;
using atalaya::testing::TemporaryFolder;

TEST_CASE("records come out in order, also after the spool was closed and opened, and the counters continue") {
  const TemporaryFolder folder;
  const SpoolLimits limits = limits_in(folder / "made/spool");
  {
    const auto spool = open_spool(limits);
    for (uint64_t i = 0; i < 100; ++i) REQUIRE(append(*spool, i) == Spool::Put::stored);
    SpoolDrops drops;
    for (uint64_t i = 0; i < 40; ++i) {
      const auto entry = spool->take(drops);
      REQUIRE(entry);
      CHECK(number_of(entry->payload) == i);
      spool->settle({.delivered = 7, .dead_letter = 1, .dropped = {{"refused", 2}}});
    }
    CHECK(drops.empty());
  }
  const auto spool = open_spool(limits);
  const SpoolCounts before = counts_of(*spool);
  CHECK(before.queued() == 600);
  CHECK(before.delivered == 280);
  CHECK(before.dead_letter == 40);
  CHECK(before.dropped.at("refused") == 80);
  for (uint64_t i = 100; i < 110; ++i) REQUIRE(append(*spool, i) == Spool::Put::stored);
  CHECK(drain(*spool) == numbers(40, 110));
  CHECK(counts_of(*spool).queued() == 0);
  CHECK(counts_of(*spool).appended == 1100);
}

TEST_CASE("a record in flight without a result comes again, and first") {
  const TemporaryFolder folder;
  SpoolDrops drops;
  {
    const auto spool = open_spool(limits_in(folder / "s"));
    for (uint64_t i = 0; i < 3; ++i) append(*spool, i);
    REQUIRE(spool->take(drops));
    CHECK(!spool->take(drops));  // one at a time
    spool->put_back(drops);
    const auto again = spool->take(drops);
    REQUIRE(again);
    CHECK(number_of(again->payload) == 0);
  }
  const auto spool = open_spool(limits_in(folder / "s"));
  CHECK(drain(*spool) == numbers(0, 3));
  CHECK(drops.empty());
}

TEST_CASE("only a complete payload begins a segment, and inherited segments are read from their beginning") {
  const TemporaryFolder folder;
  SpoolDrops drops;
  {
    const auto spool = open_spool(limits_in(folder / "s"));
    CHECK(spool->append("p", 10, payload_of(0), drops, false).put == Spool::Put::partial);
    CHECK(counts_of(*spool).appended == 0);
    CHECK(spool->append("p", 10, payload_of(0), drops).put == Spool::Put::stored);
    CHECK(spool->append("p", 10, payload_of(1), drops, false).put == Spool::Put::stored);
    REQUIRE(spool->take(drops));
    spool->settle({.delivered = 10, .dead_letter = 0, .dropped = {}});
  }
  const auto spool = open_spool(limits_in(folder / "s"));
  std::vector<uint64_t> inherited;
  spool->on_inherited([&](std::string_view payload) { inherited.push_back(number_of(std::string(payload))); });
  CHECK(spool->append("p", 10, payload_of(2), drops, false).put == Spool::Put::partial);  // the segment at hand is another's
  CHECK(spool->append("p", 10, payload_of(2), drops).put == Spool::Put::stored);
  CHECK(drain(*spool) == numbers(1, 3));
  CHECK(inherited == std::vector<uint64_t>{0, 1});
}

TEST_CASE("a folder has one owner, and the second one gets an error") {
  const TemporaryFolder folder;
  auto first = open_spool(limits_in(folder / "s"));
  const auto second = Spool::open(limits_in(folder / "s"));
  REQUIRE(!second.ok());
  CHECK(second.error().find("another sink or agent has it") != std::string::npos);
  first->close();
  CHECK(append(*first, 1) == Spool::Put::failed);
  CHECK(Spool::open(limits_in(folder / "s")).ok());
}

TEST_CASE("every pipeline has its own counters") {
  const TemporaryFolder folder;
  const SpoolLimits limits = limits_in(folder / "s");
  {
    const auto spool = open_spool(limits);
    for (uint64_t i = 0; i < 20; ++i) append(*spool, i, static_cast<uint32_t>(i), i % 2 == 0 ? "even" : "odd");
    spool->count_dropped("odd", "queue full", 5);
  }
  const auto spool = open_spool(limits);
  CHECK(counts_of(*spool, "even").queued() == 90);
  CHECK(counts_of(*spool, "odd").queued() == 100);
  CHECK(counts_of(*spool, "odd").dropped.at("queue full") == 5);
  CHECK(drain(*spool) == numbers(0, 20));
  CHECK(counts_of(*spool, "even").delivered == 90);
}

TEST_CASE("a spool that is full drops the oldest, drops the newest, or waits; it never grows beyond its size") {
  for (const WhenFull policy : {WhenFull::drop_oldest, WhenFull::drop_newest, WhenFull::block}) {
    CAPTURE(static_cast<int>(policy));
    const TemporaryFolder folder;
    SpoolLimits limits = limits_in(folder / "s");
    limits.max_bytes = int64_t{1} << 20;
    limits.when_full = policy;
    const auto spool = open_spool(limits);
    uint64_t stored = 0;
    uint64_t dropped = 0;
    SpoolDrops drops;
    bool full = false;
    uint64_t i = 0;
    for (; i < 3000 && !full; ++i) {
      const Spool::Put put = spool->append("p", 10, payload_of(i), drops).put;
      if (put == Spool::Put::stored) stored += 10;
      full = put == Spool::Put::full;
      CHECK(spool->bytes() <= uint64_t{1} << 20);
    }
    for (const SpoolDrop &drop : drops) {
      CHECK(drop.reason == "spool full");
      dropped += drop.samples;
    }
    CHECK(full == (policy == WhenFull::block));
    CHECK(counts_of(*spool).dropped_total() == dropped);
    const std::vector<uint64_t> left = drain(*spool);
    if (policy == WhenFull::drop_oldest) {
      CHECK(left.back() == 2999);
      CHECK(left == numbers(left.front(), 3000));
      CHECK(dropped + left.size() * 10 == stored);
    } else {
      CHECK(left.front() == 0);
      CHECK(std::is_sorted(left.begin(), left.end()));  // a small one may fit where a large one did not
      CHECK(left.size() * 10 == stored);
    }
    CHECK(append(*spool, i) == Spool::Put::stored);  // there is room again
    CHECK(segments_in(folder / "s").size() <= 2);
  }
}

TEST_CASE("a batch larger than the spool is dropped, one as large as it fits, again and again") {
  const TemporaryFolder folder;
  SpoolLimits limits = limits_in(folder / "s");
  limits.max_bytes = int64_t{1} << 20;
  limits.when_full = WhenFull::block;
  const auto spool = open_spool(limits);
  SpoolDrops drops;
  CHECK(spool->append("p", 3, std::string((1 << 20) + 1, 'x'), drops).put == Spool::Put::dropped);
  CHECK(drops.back().reason == "larger than the spool");
  for (int round = 0; round < 3; ++round) {
    REQUIRE(spool->append("p", 3, std::string((1 << 20) - 200, 'x'), drops).put == Spool::Put::stored);
    REQUIRE(spool->take(drops));
    CHECK(spool->append("p", 3, "more", drops).put == Spool::Put::full);
    spool->settle({.delivered = 3, .dead_letter = 0, .dropped = {}});
  }
  CHECK(counts_of(*spool).delivered == 9);
}

TEST_CASE("a record that waits too long is dropped, also behind a record that the sink does not take") {
  const TemporaryFolder folder;
  SpoolLimits limits = limits_in(folder / "s");
  limits.max_age_ns = 3'600'000'000'000;
  const auto spool = open_spool(limits);
  for (uint64_t i = 0; i < 5; ++i) append(*spool, i);
  SpoolDrops drops;
  REQUIRE(spool->take(drops));
  const int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  spool->expire(now, drops);
  CHECK(drops.empty());
  spool->expire(now + 2 * limits.max_age_ns, drops);
  REQUIRE(drops.size() == 1);
  CHECK(drops[0].reason == "too old");
  CHECK(drops[0].samples == 40);
  CHECK(counts_of(*spool).queued() == 10);  // the one in flight
  spool->settle({.delivered = 10, .dead_letter = 0, .dropped = {}});
  CHECK(counts_of(*spool).queued() == 0);
  append(*spool, 5);
  CHECK(drain(*spool) == numbers(5, 6));
}

TEST_CASE("delivered segments are deleted; the folder does not grow with the total of records") {
  const TemporaryFolder folder;
  SpoolLimits limits = limits_in(folder / "s");
  limits.max_bytes = int64_t{1} << 20;
  const auto spool = open_spool(limits);
  for (uint64_t i = 0; i < 5000; ++i) {
    REQUIRE(append(*spool, i) == Spool::Put::stored);
    if (i % 10 == 9) CHECK(drain(*spool) == numbers(i - 9, i + 1));
  }
  CHECK(segments_in(folder / "s").size() <= 2);
  CHECK(counts_of(*spool).dropped_total() == 0);
}

TEST_CASE("eviction around the record in flight: it is settled all the same, and after a crash counted as lost") {
  const TemporaryFolder folder;
  SpoolLimits limits = limits_in(folder / "s");
  limits.max_bytes = int64_t{1} << 20;
  for (const bool crash : {false, true}) {
    std::filesystem::remove_all(folder / "s");
    const TemporaryFolder copy;
    {
      const auto spool = open_spool(limits);
      SpoolDrops drops;
      append(*spool, 0);
      REQUIRE(spool->take(drops));
      for (uint64_t i = 1; i < 2000; ++i) append(*spool, i);
      CHECK(counts_of(*spool).dropped_total() > 0);
      std::filesystem::copy(folder / "s", copy / "s");  // files that a crash would leave now
      if (!crash) spool->settle({.delivered = 10, .dead_letter = 0, .dropped = {}});
    }
    limits.dir = crash ? copy / "s" : folder / "s";
    const auto spool = open_spool(limits);
    const auto left = drain(*spool);
    const SpoolCounts counts = counts_of(*spool);
    CHECK(counts.appended == 20000);
    CHECK(counts.queued() == 0);
    CHECK(counts.delivered == left.size() * 10 + (crash ? 0 : 10));
    CHECK(counts.delivered + counts.dropped_total() == 20000);
  }
}

TEST_CASE("after random operations the counters balance, nothing comes twice and the order stays") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto chance = [&](unsigned per_cent) { return random() % 100 < per_cent; };
    const TemporaryFolder folder;
    SpoolLimits limits = limits_in(folder / "s");
    limits.max_bytes = int64_t{1} << 20;
    limits.when_full = static_cast<WhenFull>(seed % 3);
    auto spool = open_spool(limits);
    uint64_t next = 0;
    uint64_t accepted = 0;
    uint64_t last = 0;
    bool flying = false;
    const unsigned sends = seed % 5 * 20;
    for (int step = 0; step < 3000; ++step) {
      SpoolDrops drops;
      if (chance(60)) {
        const Spool::Put put = spool->append(next % 3 == 0 ? "a" : "b", 10, payload_of(next + 1), drops).put;
        if (put != Spool::Put::full) accepted += 10;
        ++next;
      }
      if (!flying && chance(sends)) {
        if (const auto entry = spool->take(drops)) {
          flying = true;
          CHECK(number_of(entry->payload) > last);
          last = number_of(entry->payload);
        }
      }
      if (flying && chance(50)) {
        flying = false;
        if (chance(10)) {
          spool->put_back(drops);
          last = 0;
        } else {
          spool->settle({.delivered = 6, .dead_letter = 3, .dropped = {{"refused", 1}}});
        }
      }
      if (chance(2)) CHECK(spool->sync().ok());
      if (chance(1)) {
        spool.reset();
        spool = open_spool(limits);
        flying = false;
        last = 0;
      }
      uint64_t sum = 0;
      for (const SpoolCounts &counts : spool->counts()) {
        CHECK(counts.consumed <= counts.appended);
        CHECK(counts.dropped.count("spool damaged") == 0);
        sum += counts.delivered + counts.dead_letter + counts.dropped_total() + counts.queued();
      }
      REQUIRE(sum == accepted);
    }
  }
}

TEST_CASE("one thread appends while another takes") {
  const TemporaryFolder folder;
  const auto spool = open_spool(limits_in(folder / "s"));
  constexpr uint64_t kMany = 20000;
  std::thread appender([&] {
    for (uint64_t i = 0; i < kMany; ++i) {
      append(*spool, i);
      if (i % 500 == 0) static_cast<void>(spool->sync());
    }
  });
  std::vector<uint64_t> all;
  while (all.size() < kMany) {
    const auto some = drain(*spool);
    all.insert(all.end(), some.begin(), some.end());
  }
  appender.join();
  CHECK(all == numbers(0, kMany));
}
