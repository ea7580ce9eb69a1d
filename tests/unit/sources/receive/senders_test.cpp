// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/senders.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "plugins/sources/receive/distinct_count.h"
#include "plugins/sources/receive/fair_queue.h"

namespace atalaya::receive {
namespace {

constexpr int64_t kSecond = 1'000'000'000, kHour = 3600 * kSecond;

Waiting from(const SenderPtr &sender, int64_t since) {
  Waiting waiting{std::make_shared<Request>(), since};
  waiting.request->sender = sender;
  return waiting;
}

}  // namespace

TEST_CASE("distinct hashes are estimated within some per cent, repeated ones do not count") {
  for (const uint64_t count : {0u, 1u, 10u, 1000u, 30000u, 1000000u}) {
    DistinctCount distinct;
    for (int repeat = 0; repeat < 2; ++repeat)
      for (uint64_t i = 0; i < count; ++i) distinct.add(i * 16);
    CHECK(static_cast<double>(distinct.estimate()) == doctest::Approx(static_cast<double>(count)).epsilon(0.12));
  }
}

TEST_CASE("a sender over a quota waits for its next hour, is logged once, and others do not wait") {
  std::vector<std::string> notices;
  Senders senders({1000, 10 * kSecond, 0}, [&](std::string_view text) { notices.emplace_back(text); });
  const SenderPtr greedy = senders.find_or_add("10.0.0.1", 0), other = senders.find_or_add("10.0.0.2", 0);
  CHECK(senders.find_or_add("10.0.0.1", 1) == greedy);
  CHECK_FALSE(senders.refusal(*greedy, 0));
  senders.charge(*greedy, 1000, 10 * kSecond, 5 * kSecond);
  CHECK_FALSE(senders.refusal(*greedy, 6 * kSecond));
  senders.charge(*greedy, 1, 0, 7 * kSecond);
  for (int i = 0; i < 3; ++i) {
    const auto refusal = senders.refusal(*greedy, 8 * kSecond);
    REQUIRE(refusal);
    CHECK(refusal->retry_after == 3598);  // its hour began at 5 s
    CHECK(refusal->why == "This sender has used its quota hourly_bytes (1000 bytes)");
  }
  CHECK_FALSE(senders.refusal(*other, 8 * kSecond));
  REQUIRE(notices.size() == 1);
  CHECK(notices[0].starts_with("sender 10.0.0.1: quota hourly_bytes (1000 bytes) of this hour is used"));
  CHECK(notices[0].find("raise") != std::string::npos);
  CHECK_FALSE(senders.refusal(*greedy, 5 * kSecond + kHour));
  senders.charge(*greedy, 1, 0, 5 * kSecond + kHour);
  REQUIRE(notices.size() == 2);
  CHECK(notices[1] == "sender 10.0.0.1: 3 requests were refused in its last hour");
  senders.charge(*greedy, 0, 11 * kSecond, 6 * kSecond + kHour);
  CHECK(senders.refusal(*greedy, 7 * kSecond + kHour)->why.find("hourly_cpu (10 s") != std::string::npos);
}

TEST_CASE("senders beyond the limit share an entry; idle ones are forgotten, but not those with names in the table") {
  Senders senders(
      {1, 0, 0}, [](std::string_view) {}, 2);
  senders.find_or_add("a", 0);
  senders.find_or_add("b", 0)->names = 1;
  const SenderPtr c = senders.find_or_add("c", kSecond);
  CHECK(c->name == "others");
  CHECK(senders.find_or_add("d", kSecond) == c);
  CHECK(senders.find_or_add("e", 2 * kHour)->name == "e");  // in the place of a
  senders.find_or_add("b", 2 * kHour)->names = 0;
  senders.find_or_add("b", 2 * kHour)->total_names = 1000;
  CHECK(senders.find_or_add("f", 4 * kHour)->name == "f");  // in the place of e
  CHECK(senders.find_or_add("b", 4 * kHour)->total_names == 1000);
}

TEST_CASE("each waiting sender gets an equal share of the time, whatever the others send; nothing is lost or reordered") {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    std::minstd_rand random(seed);
    const auto draw = [&random](int64_t below) { return static_cast<int64_t>(random() % static_cast<uint64_t>(below)); };
    FairQueue queue;
    std::vector<SenderPtr> senders;
    for (int i = 0; i < 5; ++i) senders.push_back(std::make_shared<Sender>("s" + std::to_string(i)));
    std::map<const Sender *, int64_t> cost, last;
    int64_t time = 0;
    // All wait all the time: the requests of the first cost a hundred times as much.
    for (const SenderPtr &sender : senders)
      for (int i = 0; i < 2000; ++i) queue.push(from(sender, ++time));
    constexpr int64_t kDear = 1000;
    for (int step = 0; step < 3000; ++step) {
      const Waiting next = queue.pop();
      const Sender *sender = next.request->sender.get();
      CHECK(next.since > last[sender]);
      last[sender] = next.since;
      const int64_t own = sender == senders[0].get() ? kDear : 1 + draw(20);
      cost[sender] += own;
      queue.charge(own);
      if (draw(10) == 0) queue.push(from(senders[static_cast<size_t>(draw(5))], ++time));
    }
    for (const SenderPtr &sender : senders) {
      CHECK(cost[sender.get()] <= cost[senders[1].get()] + kDear + 20);
      CHECK(cost[sender.get()] >= cost[senders[1].get()] - kDear - 20);
    }
    size_t left = queue.size();
    for (std::set<int64_t> seen; !queue.empty(); --left) {
      const Waiting next = draw(3) == 0 ? queue.pop_oldest() : queue.pop();
      CHECK(seen.insert(next.since).second);
      queue.charge(1);
    }
    CHECK(left == 0);
  }
}

TEST_CASE("a sender that comes back with one request after the other does not overtake those that waited") {
  FairQueue queue;
  const auto dear = std::make_shared<Sender>("dear"), cheap = std::make_shared<Sender>("cheap");
  queue.push(from(dear, 1));
  queue.pop();
  queue.push(from(cheap, 2));
  queue.charge(500);
  for (int64_t time = 3; time < 100; ++time) {
    queue.push(from(dear, time));
    queue.push(from(cheap, 1000 + time));
    CHECK(queue.pop().request->sender == cheap);
    queue.charge(5);
  }
}

}  // namespace atalaya::receive
