// SPDX-License-Identifier: Apache-2.0
// Pools save space and change no answer, also where they meet roll-ups.
#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <ranges>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/unit/rounds.h"
#include "tests/unit/store/engines/pool_fixture.h"

namespace atalaya::store::test {
namespace {

// Rolls up nothing in the time of the tests.
Limits without_pools() {
  return with_rollup({{3650 * kDay, kMinute, {}}});
}

const std::vector<std::string> &questions() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> made;
    for (const char *step : {"1m-", "0all-"})
      for (const char *function : {"sum", "avg", "min", "max", "count", "first", "last"})
        made.push_back(std::string(step) + function);
    return made;
  }();
  return all;
}

void check_same_answers(const TestStore &a, const TestStore &b) {
  for (const std::string &question : questions()) {
    CAPTURE(question);
    check_same(ask(a, question), ask(b, question));
  }
}

// The oracle knows neither rows nor chunks.
void check_sums(const TestStore &store, const Host &host) {
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> expected;  // metric and pid -> sum and count
  for (const auto &[key, value] : host.expected()) {
    auto &[sum, count] = expected[{std::get<1>(key), std::to_string(std::get<0>(key))}];
    sum += static_cast<double>(value);
    ++count;
  }
  const auto sums = ask(store, "0all-sum"), counts = ask(store, "0all-count");
  REQUIRE(sums.size() == expected.size());
  REQUIRE(counts.size() == expected.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto &[sum, count] = expected.at({sums[i].metric, sums[i].tags.at("pid")});
    CHECK(sums[i].points.at(0).value == sum);
    CHECK(counts[i].points.at(0).value == count);
  }
}

TEST_CASE("for any lives, a store with pools returns the same as one without, also when both roll up later") {
  const std::map<uint32_t, uint64_t> seeds = {{1, 3}, {2, 20}, {3, 100}};  // with the longest life in seconds
  for (const auto &one : seeds | std::views::take(atalaya::test::rounds(3))) {
    CAPTURE(one.first);
    TestStore pooled_store, plain_store;
    Host pooled(pooled_store, {}, one.first), plain(plain_store, without_pools(), one.first);
    const auto check = [&] {
      check_same_answers(pooled_store, plain_store);
      check_sums(pooled_store, pooled);
    };
    for (Host *host : {&pooled, &plain}) {
      host->run(one.second);
      host->rest(kStart + 2 * kDay);
    }
    REQUIRE(pools(pooled_store) > 0);
    REQUIRE(pools(plain_store) == 0);
    check();
    for (Host *host : {&pooled, &plain}) host->late(kStart + 2 * kDay + kHour);
    check();
    for (Host *host : {&pooled, &plain}) host->rest(kStart + 4 * kDay);
    check();
    // Late samples of the last hour are in no chunk when the roll-ups begin.
    for (Host *host : {&pooled, &plain}) {
      host->late(kStart + 4 * kDay + kHour);
      host->reopen(with_rollup());
      host->rest(kLater);
    }
    for (const TestStore *store : {&pooled_store, &plain_store}) {
      CHECK(store->number("SELECT count(*) FROM chunks") == 0);
      CHECK(store->number("SELECT count(*) FROM rolled") > 0);
      CHECK(store->sql("PRAGMA integrity_check") == std::vector<std::string>{"ok"});
    }
    check();
  }
}

TEST_CASE("a store that begins to roll up makes chunks of its pools, with the same points") {
  TestStore store;
  Host host(store);
  host.run();
  host.rest(kStart + 2 * kDay);
  host.late(kStart + 2 * kDay + kHour);
  host.rest(kStart + 4 * kDay);  // the late ones are in chunks of their own
  host.late(kStart + 4 * kDay + kHour);
  REQUIRE(pools(store) > 0);
  host.reopen(without_pools());
  host.rest(kStart + 6 * kDay);
  CHECK(pools(store) == 0);
  CHECK(store.number("SELECT count(*) FROM chunks a JOIN chunks b ON a.entity = b.entity AND a.id < b.id "
                     "AND a.first_ns <= b.last_ns AND b.first_ns <= a.last_ns") == 0);
  host.check();
}

TEST_CASE("what was in pools is deleted with its age, also in a store that rolls up") {
  TestStore store;
  Host host(store);
  host.run();
  host.rest(kStart + 2 * kDay);
  REQUIRE(pools(store) > 0);
  host.reopen({.retain_ns = 2 * kAfter, .rollup = {{kAfter, kMinute, {}}}});
  constexpr int64_t late_ns = kStart + 2 * kAfter + kDay;
  host.rest(late_ns);
  for (int i = 0; i < 20; ++i) host.writer().maintain(late_ns);
  for (const char *table : {"chunks", "rolled", "windows", "entities"})
    CHECK(store.number((std::string("SELECT count(*) FROM ") + table).c_str()) == 0);
}

TEST_CASE("a damaged pool stays when the store rolls up, the rest is rolled up, and the operator gets one report") {
  TestStore store;
  Host host(store);
  host.run();
  host.rest(kStart + 2 * kDay);
  REQUIRE(pools(store) >= 2);
  Database(store.path, Access::read_write)
      .execute("UPDATE chunks SET data = zeroblob(length(data)) WHERE id = (SELECT min(id) FROM chunks WHERE entity < 0)");
  std::vector<std::string> warnings;
  host.reopen(with_rollup(), [&](const std::string &text) { warnings.push_back(text); });
  host.rest(kLater);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find(" of database " + store.path + " is damaged: such chunks stay") != std::string::npos);
  CHECK(pools(store) == 1);
  CHECK(store.number("SELECT count(*) FROM chunks") == 1);
  CHECK(store.number("SELECT count(*) FROM rolled") > 0);
}

}  // namespace
}  // namespace atalaya::store::test
