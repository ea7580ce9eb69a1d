// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/engine.h"

#include <doctest/doctest.h>

#include <cmath>

#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/store/query/arithmetic/rate.h"
#include "plugins/shared/store/query/windows/downsample.h"
#include "tests/unit/store/query/memory_store.h"

namespace atalaya::query::test {
namespace {

using namespace command_line;

constexpr const char *kWrites = "proc.disk.writes.mb";

// Per-process disk writes of two hosts, the example of the reference design.
MemoryStore reference() {
  MemoryStore store;
  const auto add = [&](const char *host, const char *process, const char *pid, double a, double b, double c) {
    store.add(kWrites, {{"host", host}, {"process", process}, {"pid", pid}}, {{10, a}, {20, b}, {30, c}});
  };
  add("host1", "P1", "78", 0, 0, 0);
  add("host1", "P2", "56", 5, 6.5, 7);
  add("host1", "P3", "100", 1.5, 2, 2.5);
  add("host1", "P3", "101", 1, 2, 2.5);
  add("host1", "P3", "102", 2, 2, 2.5);
  add("host1", "P3", "103", 1, 2, 3);
  add("host2", "P1", "56", 0, 0, 0);
  add("host2", "P2", "33", 10, 12, 11);
  add("host2", "P3", "102", 1, 2, 3);
  add("host2", "P3", "103", 2, 1, 2);
  add("host2", "P3", "104", 2, 1.5, 2);
  add("host2", "P3", "105", 3, 1, 2);
  return store;
}

std::vector<Answer> ask(MemoryStore &store, const Query &query, const Limits &limits = {}) {
  Budget budget(limits);
  return run_query(query, store, budget);
}

Query whole(const char *aggregator, const char *downsample, const std::string &metric = kWrites) {
  Query query = all_of(metric, aggregator);
  query.downsample = parse_downsample(downsample).value();
  return query;
}

TEST_CASE("the average of all P2 over both hosts is 8.58 MiB/s, of P3 on host1 2 MiB/s") {
  MemoryStore store = reference();
  Query query = whole("avg", "0all-avg");
  query.tags = {{"process", {"P2"}}};
  auto answers = ask(store, query);
  REQUIRE(answers.size() == 1);
  REQUIRE(answers[0].points.size() == 1);
  CHECK(answers[0].points[0].value == doctest::Approx(51.5 / 6));
  CHECK(answers[0].tags == Tags{{"process", "P2"}});
  CHECK(answers[0].aggregated_tags == std::vector<std::string>{"host", "pid"});
  query.tags = {{"process", {"P3"}}, {"host", {"host1"}}};
  answers = ask(store, query);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].points[0].value == doctest::Approx(2));
}

TEST_CASE("the bandwidth of a host is the sum over its processes") {
  MemoryStore store = reference();
  Query query = all_of(kWrites);
  query.group_by = {"host"};
  const auto answers = ask(store, query);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].tags == Tags{{"host", "host1"}});
  CHECK(shown(answers[0].points) == "10:10.5 20:14.5 30:17.5");
  CHECK(shown(answers[1].points) == "10:18 20:17.5 30:20");
}

TEST_CASE("tags choose by text, list, glob, expression and negation") {
  MemoryStore store = reference();
  const auto count = [&](const std::vector<store::TagFilter> &tags) {
    Query query = all_of(kWrites, "none");
    query.tags = tags;
    return ask(store, query).size();
  };
  CHECK(count({}) == 12);
  CHECK(count({{"process", {"P2"}}}) == 2);
  CHECK(count({{"process", {"P2", "P1"}}}) == 4);
  CHECK(count({{"process", {"P*"}}, {"host", {"*2"}}}) == 6);
  CHECK(count({{"process", {"~^P[12]$"}}}) == 4);
  CHECK(count({{"process", {"!P3"}}}) == 4);
  CHECK(count({{"process", {"!P3", "!P1"}}}) == 2);
  CHECK(count({{"core", {"!0"}}}) == 12);
  CHECK(count({{"core", {"0"}}}) == 0);
}

TEST_CASE("several metrics are several answers") {
  MemoryStore store;
  store.add("a.x", {{"host", "h"}}, {{1, 1}});
  store.add("a.y", {{"host", "h"}}, {{1, 2}});
  CHECK(ask(store, all_of("a.*")).size() == 2);
}

TEST_CASE("without a function an interval has the amount of deltas, the last total, and the integral per time of the rest") {
  MemoryStore store;
  store.add("flow.out.bytes", {}, {{5, 10}, {10, 20}});
  store.add("proc.cpu.user", {}, {{5, 10}, {10, 20}});  // windows of a second
  store.add("self.samples.in", {}, {{5, 100}, {10, 200}});
  Query query = all_of("*");
  query.downsample = parse_downsample("10s").value();
  const auto answers = ask(store, query);
  CHECK(shown(answers[0].points) == "10:30");
  CHECK(shown(answers[1].points) == "10:3");
  CHECK(shown(answers[2].points) == "10:200");
}

TEST_CASE("a counter that goes down is a reset: a gap, no negative rate") {
  MemoryStore store;
  store.add("self.samples.in", {}, {{0, 100}, {10, 200}, {20, 50}, {30, 150}});
  Query query = all_of("self.samples.in");
  query.rate = Rate{};
  CHECK(shown(ask(store, query)[0].points) == "10:10 30:10");
  query.rate->largest = 250;
  CHECK(shown(ask(store, query)[0].points) == "10:10 20:10 30:10");
  query.rate->counter = false;
  CHECK(shown(ask(store, query)[0].points) == "10:10 20:-15 30:10");
  query.rate = Rate{true, 1e12, 1000};
  CHECK(shown(ask(store, query)[0].points) == "10:10 30:10");
}

TEST_CASE("rates are made reading by reading, so that a reset spoils no average") {
  MemoryStore store;
  store.add("self.samples.in", {}, {{0, 1000}, {10, 1100}, {20, 0}, {30, 100}});
  Query query = all_of("self.samples.in");
  query.rate = Rate{};
  query.downsample = parse_downsample("40s").value();
  CHECK(shown(ask(store, query)[0].points) == "40:5");  // of 200 that are known
  query.downsample = parse_downsample("40s-avg").value();
  query.aggregator = *Aggregator::find("avg");
  CHECK(shown(ask(store, query)[0].points) == "40:10");
}

TEST_CASE("the largest answers come first") {
  MemoryStore store = reference();
  Query query = all_of(kWrites, "none");
  Budget budget({100, 36, kSecond});
  auto answers = run_query(query, store, budget);
  select_top(answers, 2, budget);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].tags.at("pid") == "33");
  CHECK(answers[1].tags.at("host") == "host1");
  CHECK(answers[1].tags.at("process") == "P2");
  budget.reserve(30);  // the points of the other ten are no longer held
  CHECK_THROWS_AS(budget.reserve(1), TooMuch);
}

TEST_CASE("the largest are those with the largest integral, not the highest peak") {
  MemoryStore store;
  store.add("proc.cpu.user", {{"process", "a short one"}}, {{1, 90}});
  store.add("proc.cpu.user", {{"process", "long"}}, {{1, 50}, {2, 50}, {3, 50}});
  for (const char *every : {"", "1s", "1s-max", "1m", "0all"}) {
    Budget budget({});
    Query query = all_of("proc.cpu.user");
    query.group_by = {"process"};
    if (*every != 0) query.downsample = parse_downsample(every).value();
    auto answers = run_query(query, store, budget);
    select_top(answers, 1, budget);
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].tags.at("process") == "long");
  }
}

TEST_CASE("the largest are those of each metric: a MiB is not more than a per cent") {
  MemoryStore store;
  for (const char *host : {"a", "b", "c"}) {
    store.add("proc.cpu.user", {{"host", host}}, {{1, host[0] - 'a' + 0.5}});
    store.add("proc.mem.resident", {{"host", host}}, {{1, 1000.0 + host[0]}});
  }
  Budget budget({});
  auto answers = run_query(all_of("proc.*", "none"), store, budget);
  select_top(answers, 2, budget);
  REQUIRE(answers.size() == 4);
  CHECK(answers[0].metric == "proc.cpu.user");
  CHECK(answers[0].tags.at("host") == "c");
  CHECK(answers[1].tags.at("host") == "b");
  CHECK(answers[2].metric == "proc.mem.resident");
  CHECK(common_tags(answers).empty());
  CHECK(common_tags({answers[0], answers[2]}) == Tags{{"host", "c"}});
}

TEST_CASE("the range is without its begin and with its end") {
  MemoryStore store = reference();
  Query query = all_of(kWrites);
  query.tags = {{"pid", {"33"}}};
  query.range = {kT0 + 10 * kSecond, kT0 + 20 * kSecond};
  CHECK(shown(ask(store, query)[0].points) == "20:12");
}

TEST_CASE("summaries of the store yield the same result as points") {
  for (const char *every : {"10s-avg", "20s-max", "30s-count", "0all-sum", "30s-p50", "20s-first"}) {
    MemoryStore store = reference();
    const auto by_points = ask(store, whole("sum", every));
    store.summarize = true;
    store.block = 2;
    CHECK(shown(ask(store, whole("sum", every))[0].points) == shown(by_points[0].points));
  }
}

std::string error_of(MemoryStore &store, const Query &query, const Limits &limits = {}) {
  try {
    ask(store, query, limits);
  } catch (const std::runtime_error &error) {
    return error.what();
  }
  return "";
}

TEST_CASE("errors in queries are reported") {
  MemoryStore store = reference();
  CHECK(error_of(store, all_of("proc.disk.write.mb")) ==
        "metric \"proc.disk.write.mb\" is not in the store memory; did you mean \"proc.disk.writes.mb\"?");
  Query backwards = all_of(kWrites);
  std::swap(backwards.range.from_ns, backwards.range.to_ns);
  CHECK(error_of(store, backwards) == "the time ends before it begins; --from must be before --to");
  Query pattern = all_of(kWrites);
  pattern.tags = {{"host", {"~("}}};
  CHECK(error_of(store, pattern).find("tag \"host\": ") == 0);
  MemoryStore empty;
  CHECK(error_of(empty, all_of("a")) == "metric \"a\" is not in the store memory; it is empty");
  Query nothing = all_of(kWrites);
  nothing.range = {kT0 + 100 * kSecond, kT0 + 200 * kSecond};
  CHECK(ask(store, nothing).empty());
}

TEST_CASE("a query that would cost too much ends with the fix") {
  MemoryStore store = reference();
  CHECK(error_of(store, all_of(kWrites), {11, 200, kSecond}).find("more than 11 series match; narrow the query") == 0);
  CHECK(error_of(store, all_of(kWrites), {100, 35, kSecond}).find("the answer would hold more than 35 points; ask for less") == 0);
  CHECK(error_of(store, all_of(kWrites), {100, 1000, -1}).find("the query took longer than ") == 0);
  CHECK(error_of(store, whole("sum", "1ms-avg-zero"), {100, 1000, kSecond})
            .find("a point for each interval of each series would be more than 1000") == 0);
}

TEST_CASE("points of fill policies are counted over all series before they are made") {
  MemoryStore store = reference();  // 12 series, an hour: 3,600 intervals of a second each, and one more
  CHECK(error_of(store, whole("sum", "1s-avg-zero"), {100, 40'000, kSecond})
            .find("a point for each interval of each series would be more than 40000") == 0);
  CHECK(ask(store, whole("sum", "1s-avg-zero"), {100, 50'000, kSecond})[0].points.size() == 3601);
}

TEST_CASE("several questions of one request share its limits") {
  MemoryStore store = reference();
  Budget budget({100, 36 + 3, kSecond});
  CHECK(run_query(all_of(kWrites), store, budget)[0].points.size() == 3);
  CHECK_THROWS_AS(run_query(all_of(kWrites), store, budget), TooMuch);
}

TEST_CASE("summaries of the store are held to the limits, too") {
  MemoryStore store = reference();
  store.summarize = true;
  store.block = 1;
  CHECK(error_of(store, whole("sum", "10s-avg"), {100, 10, kSecond}).find("the answer would hold more than 10 points") == 0);
}

TEST_CASE("kinds and units come from declarations only") {
  MemoryStore store;
  store.declare("made.up", store::Kind::delta, "By", "A made-up metric");
  store.add("made.up", {}, {{5, 10}, {10, 20}});
  store.add("flow.foreign.bytes", {}, {{5, 10}, {10, 20}});  // its name looks like a delta
  const auto added = ask(store, whole("sum", "1m", "made.up"))[0];
  CHECK(shown(added.points) == "60:30");
  REQUIRE(added.info);
  CHECK(added.info->unit == "By");
  CHECK(added.info->kind == store::Kind::delta);
  CHECK(added.info->summary == "A made-up metric");
  const auto averaged = ask(store, whole("sum", "1m", "flow.foreign.bytes"))[0];
  CHECK(shown(averaged.points) == "60:0.5");
  CHECK_FALSE(averaged.info);
}

TEST_CASE("a rate and a count have their own kind and unit") {
  MemoryStore store;
  store.declare("made.up", store::Kind::total, "By");
  store.add("made.up", {}, {{10, 100}, {20, 200}});
  Query query = all_of("made.up");
  query.rate = Rate{};
  const auto rate = ask(store, query)[0];
  CHECK(shown(rate.points) == "20:10");
  CHECK(rate.info->kind == store::Kind::rate);
  CHECK(rate.info->unit == "By/s");
  for (const auto &count : {ask(store, all_of("made.up", "count"))[0], ask(store, whole("sum", "1m-count", "made.up"))[0]}) {
    CHECK(count.info->kind == store::Kind::gauge);
    CHECK(count.info->unit == "1");
  }
  CHECK(ask(store, all_of("made.up"))[0].info->kind == store::Kind::total);
}

TEST_CASE("the rate of counts is exact where they are too large for a number") {
  constexpr int64_t kLarge = int64_t{1} << 53;
  RateOf rate({});
  CHECK_FALSE(rate.add(kT0, static_cast<double>(kLarge), kLarge));
  CHECK(rate.add(kT0 + kSecond, static_cast<double>(kLarge + 1), kLarge + 1) == 1.0);
  CHECK(rate.add(kT0 + 2 * kSecond, static_cast<double>(kLarge + 4), kLarge + 4) == 3.0);
}

TEST_CASE("the value of a reset is for decreases only: a steep rise is one") {
  MemoryStore store;
  store.add("self.samples.in", {}, {{0, 100}, {10, 1'000'100}, {20, 50}});
  Query query = all_of("self.samples.in");
  query.rate = Rate{true, 1e12, 1000};
  CHECK(shown(ask(store, query)[0].points) == "10:100000");
}

TEST_CASE("counts are answered as they are where they are too large for a number") {
  constexpr int64_t kLarge = (int64_t{1} << 53) + 1;
  MemoryStore store;
  store.add_counts("net.bytes", {{"host", "h"}}, {{0, kLarge}, {10, kLarge + 2}, {20, 7}});
  const Answer answer = ask(store, all_of("net.bytes"))[0];
  REQUIRE(answer.counts.size() == 2);
  CHECK(as_csv({answer}).find(",9007199254740993,\r\n") != std::string::npos);
  CHECK(as_json({answer}).find(",9007199254740995],") != std::string::npos);
  CHECK(as_json({answer}).find(",7]]") != std::string::npos);
  CHECK(as_table({answer}).find(" 9007199254740993\n") != std::string::npos);
  CHECK(ask(store, all_of("net.bytes", "none"))[0].counts.size() == 2);
  CHECK(ask(store, all_of("net.bytes", "count"))[0].counts.empty());
  Query rate = all_of("net.bytes");
  rate.rate = Rate{};
  CHECK(ask(store, rate)[0].counts.empty());
  store.add_counts("net.bytes", {{"host", "i"}}, {{0, kLarge}});
  CHECK(ask(store, all_of("net.bytes"))[0].counts.empty());  // a sum is a number
}

TEST_CASE("counts that no answer has are not paid for") {
  constexpr int64_t kLarge = (int64_t{1} << 53) + 1;
  MemoryStore store;
  store.add_counts("net.bytes", {{"host", "h"}}, {{0, kLarge}, {10, kLarge}});
  store.add_counts("net.bytes", {{"host", "i"}}, {{0, kLarge}, {10, kLarge}});
  Budget budget({100, 4 + 2 + 2, kSecond});  // four points at a time, and the two of each answer
  CHECK(run_query(all_of("net.bytes"), store, budget)[0].points.size() == 2);
  CHECK(run_query(all_of("net.bytes"), store, budget)[0].points.size() == 2);
}

TEST_CASE("a filter that an absent tag passes leaves the series without it") {
  MemoryStore store;
  store.add("m", {{"host", "a"}}, {{1, 1}});
  store.add("m", {{"host", "b"}}, {{1, 1}});
  store.add("m", {}, {{1, 1}});
  Query query = all_of("m", "none");
  query.tags_if_any = {{"host", {"~^(a|)$"}}};
  CHECK(ask(store, query).size() == 2);
}

}  // namespace
}  // namespace atalaya::query::test
