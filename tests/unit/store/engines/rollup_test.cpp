// SPDX-License-Identifier: Apache-2.0
// Roll-ups: the same answers from less.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/store/sql/points_table.h"
#include "tests/unit/store/engines/rollup_fixture.h"

namespace atalaya::store::test {
namespace {

// Series with gaps, of every kind, counts and measurements with and without decimals.
void write_random(TestStore &store, Writer &writer, std::mt19937 &random) {
  std::map<int, int64_t> totals;
  for (int64_t second = 5; second < 86'400 / 4; second += 5) {
    Samples samples(store.symbols);
    for (int pid = 0; pid < 4; ++pid) {
      if (random() % 50 == 0 || (pid == 3 && second % 900 > 60)) continue;
      const int64_t late = pid == 2 ? static_cast<int64_t>(random() % 1'000'000'000) : 0;
      samples.metrics(kStart + second * kSecond - late, {{"pid", std::to_string(pid)}, {"process", "p"}}, 5 * kSecond);
      samples.real("proc.cpu.user", static_cast<double>(random() % 10'000) / 100.0);
      samples.count("flow.sent.bytes", static_cast<int64_t>(random() % 1'000'000));
      samples.count("self.samples.in", totals[pid] += static_cast<int64_t>(random() % 1000));
      if (random() % 3 != 0) samples.real("some.counter", std::sin(static_cast<double>(random())) * 1e6);
    }
    writer.write(samples.span(), kStart + second * kSecond);
  }
}

const std::vector<std::string> &functions() {
  static const std::vector<std::string> all = {"sum", "avg", "min", "max", "count", "first", "last"};
  return all;
}

TEST_CASE("a rolled-up store returns the same results for steps that are multiples of its step") {
  std::mt19937 random(28);
  const std::vector<std::vector<RollupLevel>> choices = {
      {{kAfter, kMinute, {}}}, {{kAfter, 10 * kMinute, {}}}, {{kAfter, kMinute, {}}, {3 * kDay, 10 * kMinute, {}}}};
  for (const auto &levels : choices) {
    TestStore store;
    Writer writer = store.writer(with_rollup(levels));
    write_random(store, writer, random);
    settle(writer, kStart + kDay);
    REQUIRE(store.number("SELECT count(*) FROM rolled") == 0);
    std::map<std::string, std::vector<query::Answer>> before;
    for (const char *step : {"10m-", "1h-", "0all-"})
      for (const std::string &function : functions()) before[step + function] = ask(store, step + function);
    const auto defaults = ask(store, "10m");
    settle(writer, kLater);
    REQUIRE(store.number("SELECT count(*) FROM rolled") > 0);
    REQUIRE(store.number("SELECT count(*) FROM chunks") == 0);
    for (const auto &one : before) {
      CAPTURE(one.first);
      check_same(ask(store, one.first), one.second);
    }
    check_same(ask(store, "10m"), defaults);
    CHECK(store.sql("PRAGMA integrity_check") == std::vector<std::string>{"ok"});
  }
}

// The content of a store with an hour of a metric after it was rolled up.
struct Rolled {
  TestStore store;
  Writer writer = store.writer(with_rollup());

  explicit Rolled(const char *metric) {
    write_hour(store, writer, metric);
    settle(writer, kLater);
    REQUIRE(store.number("SELECT count(*) FROM chunks") == 0);
    REQUIRE(store.number("SELECT count(*) FROM windows") == 0);
  }
  std::vector<query::Point> points(const std::string &every, query::Edge edge = query::Edge::end, bool rate = false) {
    const auto answers = ask(store, every, edge, rate);
    return answers.empty() ? std::vector<query::Point>{} : answers.front().points;
  }
};

TEST_CASE("a rolled point by itself is the sum of a delta, the last of a total, the average of anything else") {
  const auto value = [](const char *metric) {
    const auto points = Rolled(metric).points("");
    REQUIRE(points.size() == 60);
    CHECK(points[1].time_ns == kStart + 2 * kMinute);
    return points[1].value;
  };
  CHECK(value("flow.sent.bytes") == 12 * 17.5);
  CHECK(value("self.samples.in") == 23);
  CHECK(value("proc.threads") == 17.5);
}

TEST_CASE("an average weighs the points by their durations") {
  TestStore store;
  Writer writer = store.writer(with_rollup());
  for (int64_t minute = 0; minute < 360; ++minute) {
    const int64_t begin_ns = kStart + minute * kMinute;
    Samples samples = store.samples();
    samples.metrics(begin_ns + 10 * kSecond, {{"host", "ant"}}, 10 * kSecond)
        .real("proc.cpu.user", 100 + static_cast<double>(minute));
    samples.metrics(begin_ns + kMinute, {{"host", "ant"}}, 50 * kSecond).real("proc.cpu.user", 40 + static_cast<double>(minute));
    writer.write(samples.span(), kStart);
  }
  settle(writer, kLater);
  const auto points = store.scan("proc.cpu.user", "host", "ant");
  REQUIRE(points.size() == 360);
  CHECK(points[0] == Point{kStart + kMinute, kMinute, 50, {}});
  CHECK(points[300].value == doctest::Approx(350));
  // Of a metric that nobody declared: of its samples.
  CHECK(ask(store, "1h-avg")[0].points[0].value == doctest::Approx(70 + 29.5));
}

TEST_CASE("a few samples that would not become smaller stay samples, and are joined when more comes") {
  TestStore store;
  Writer writer = store.writer(with_rollup());
  const auto add = [&](int64_t second, int64_t now_ns) {
    Samples samples = store.samples();
    samples.metrics(kStart + second * kSecond, {{"host", "ant"}}, kSecond).count("proc.threads", second);
    writer.write(samples.span(), now_ns);
  };
  for (int64_t second = 1; second <= 20; ++second) add(second, kStart);
  settle(writer, kLater);
  REQUIRE(store.number("SELECT count(*) FROM chunks") == 0);
  CHECK(store.scan("proc.threads", "host", "ant").size() == 20);
  CHECK(ask(store, "1h-p50")[0].points[0].value == doctest::Approx(10.5));
  add(30, kLater);
  settle(writer, kLater + 10 * kDay);
  CHECK(store.number("SELECT count(*) FROM rolled") == 1);
  CHECK(store.scan("proc.threads", "host", "ant").size() == 1);
  CHECK(ask(store, "1m-sum")[0].points[0].value == 210 + 30);
}

TEST_CASE("a step with one point is that point") {
  TestStore store;
  Writer writer = store.writer(with_rollup());
  for (int64_t i = 0; i < 400; ++i) {
    Samples samples = store.samples();
    samples.metrics(kStart + (i * 90 + 7) * kSecond, {{"host", "ant"}}, 3 * kSecond).count("proc.threads", i);
    writer.write(samples.span(), kStart + i);
  }
  settle(writer, kLater);
  REQUIRE(store.number("SELECT count(*) FROM rolled") > 0);
  const auto points = store.scan("proc.threads", "host", "ant");
  REQUIRE(points.size() == 400);
  CHECK(points[399] == Point{kStart + (399 * 90 + 7) * kSecond, 3 * kSecond, 399, 399});
  CHECK(ask(store, "10m-p95").size() == 1);  // nothing is missing for it
}

TEST_CASE("shorter steps get the longer ones as they are, others the whole at its end") {
  Rolled rolled("proc.threads");
  const auto shorter = rolled.points("10s-avg");
  REQUIRE(shorter.size() == 60);
  CHECK(shorter[0].time_ns == kStart + kMinute);
  CHECK(shorter[0].value == 5.5);
  const auto other = rolled.points("90s-count");
  REQUIRE(other.size() == 40);
  CHECK(other[0].value == 12);
  CHECK(other[1].value == 24);
}

TEST_CASE("percentiles of an interval are refused where the points are gone") {
  Rolled rolled("proc.threads");
  CHECK_THROWS_WITH_AS(
      rolled.points("10m-p95"),
      "\"p95\" of an interval needs all its points, and points until 2023-11-14T01:00:00Z are rolled up; query the "
      "time from 2023-11-14T01:00:00Z, or use sum, avg, min, max, count, first or last",
      query::Wrong);
  CHECK(ask(rolled.store, "10m-p95", query::Edge::end, false, {kStart + kHour, kStart + kDay}).empty());
}

TEST_CASE("intervals that begin with the step hold it whole") {
  Rolled rolled("proc.threads");
  const auto points = rolled.points("10m-sum", query::Edge::start);
  REQUIRE(points.size() == 6);
  CHECK(points[0].time_ns == kStart);
  CHECK(points[0].value == 119 * 120 / 2);
}

TEST_CASE("rates are those between the last points of the steps, and a reset leaves a gap") {
  Rolled rolled("some.counter");
  const auto points = rolled.points("", query::Edge::end, true);
  REQUIRE(points.size() == 59);
  for (const query::Point &point : points) CHECK(point.value == doctest::Approx(0.2));
  write_hour(rolled.store, rolled.writer, "some.counter", 3600 + 30);  // from 0 again, within a step
  settle(rolled.writer, kLater + 10 * kDay);
  const auto again = rolled.points("", query::Edge::end, true);
  CHECK(again.size() == 59 + 60);
  for (const query::Point &point : again) CHECK(point.value == doctest::Approx(0.2));
}

TEST_CASE("a late point is present once, before and after it is rolled up") {
  Rolled rolled("flow.sent.bytes");
  const auto add = [&](int64_t second, int64_t value) {
    Samples samples = rolled.store.samples();
    samples.metrics(kStart + second * kSecond, {{"host", "ant"}}, kSecond).count("flow.sent.bytes", value);
    rolled.writer.write(samples.span(), kLater);
  };
  add(61, 5000);  // before the first, in the middle, and after the last of a step
  add(78, 700);
  add(3599, 60);
  add(3601, 1'000'000);
  const auto check = [&] {
    CHECK(rolled.points("1m-sum")[1].value == 12 * 17.5 + 5700);
    CHECK(rolled.points("1m-count")[1].value == 14);
    CHECK(rolled.points("1m-first")[1].value == 5000);
    CHECK(rolled.points("1m-last")[1].value == 23);
    CHECK(rolled.points("1m-max")[1].value == 5000);
    CHECK(rolled.points("1h-sum").size() == 2);
    CHECK(rolled.points("1h-sum")[0].value == 719 * 720 / 2 + 5760);
    CHECK(rolled.points("1h-count")[0].value == 723);
    CHECK(rolled.points("1h-sum")[1].value == 1'000'000);
  };
  check();  // rows
  settle(rolled.writer, kLater + kDay);
  CHECK(rolled.store.number("SELECT count(*) FROM chunks") > 0);
  check();
  settle(rolled.writer, kLater + 10 * kDay);
  CHECK(rolled.store.number("SELECT count(*) FROM chunks") == 0);
  check();
}

TEST_CASE("a late point at the very end of a step makes no second point of that time") {
  Rolled rolled("flow.sent.bytes");
  const auto points = [&] {
    query::Query query;
    query.metrics = {"flow.sent.bytes"};
    query.range = {kStart, kStart + 120 * kSecond};
    query::Budget budget({});
    SqliteStore reader(rolled.store.path);
    return query::run_query(query, reader, budget).at(0).points;
  };
  const auto before = points();
  REQUIRE(before.size() == 2);
  Samples samples = rolled.store.samples();
  samples.metrics(kStart + 60 * kSecond, {{"host", "ant"}}, 5 * kSecond).count("flow.sent.bytes", 11);
  rolled.writer.write(samples.span(), kLater);
  const auto after = points();
  REQUIRE(after.size() == 2);
  CHECK(after[0].value == before[0].value);
}

TEST_CASE("of a total that was corrected at the last moment of a step the later one stays") {
  Rolled rolled("self.samples.in");
  const auto put = [&](int64_t value, int64_t now_ns) {
    Samples samples = rolled.store.samples();
    samples.metrics(kStart + 60 * kSecond, {{"host", "ant"}}, 5 * kSecond).count("self.samples.in", value);
    rolled.writer.write(samples.span(), now_ns);
  };
  put(4711, kLater);
  CHECK(rolled.points("1m-last")[0].value == 4711);
  settle(rolled.writer, kLater + kDay);
  settle(rolled.writer, kLater + 10 * kDay);
  REQUIRE(rolled.store.number("SELECT count(*) FROM chunks") == 0);
  CHECK(rolled.points("1m-last")[0].value == 4711);
}

TEST_CASE("many entities are rolled up with a step a batch, and nothing is deleted before") {
  TestStore store;
  Writer writer = store.writer(with_rollup());
  constexpr int kEntities = 300;
  for (int pid = 0; pid < kEntities; ++pid) {
    Samples samples = store.samples();
    samples.metrics(kStart + (pid + 1) * kSecond, {{"host", "ant"}, {"pid", std::to_string(pid)}}, kSecond)
        .count("flow.sent.bytes", 1);
    writer.write(samples.span(), kStart);
  }
  settle(writer, kStart + kDay);
  REQUIRE(store.number("SELECT count(*) FROM rolled") == 0);
  // The agent did not run for longer than everything is kept.
  for (int batch = 0; batch < kEntities / 3; ++batch) writer.maintain(kLater + 300 * kDay);
  CHECK(store.number("SELECT count(*) FROM chunks") == 0);
  double sum = 0;
  for (const query::Answer &answer : ask(store, "1h-sum")) sum += answer.points.at(0).value;
  CHECK(sum == kEntities);
}

TEST_CASE("rows that came late may replace points: their chunk waits for them") {
  TestStore store;
  Writer writer = store.writer(with_rollup());
  write_hour(store, writer, "flow.sent.bytes");
  settle(writer, kStart + kDay);
  REQUIRE(store.number("SELECT count(*) FROM chunks") > 0);
  Samples samples = store.samples();
  samples.metrics(kStart + 5 * kSecond, {{"host", "ant"}}, 5 * kSecond).count("flow.sent.bytes", 1000);
  writer.write(samples.span(), kLater);
  while (writer.maintain(kLater)) {
  }
  settle(writer, kLater + 10 * kDay);
  CHECK(store.number("SELECT count(*) FROM chunks") == 0);
  const auto answers = ask(store, "1h-sum");
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].points[0].value == 719 * 720 / 2 + 1000);
}

TEST_CASE("each level is kept for its own time, and so are its entities") {
  TestStore store;
  auto writer = std::make_unique<Writer>(
      Options{store.path, {.retain_ns = 5 * kDay, .rollup = {{kAfter, kMinute, 30 * kDay}, {10 * kDay, kHour, 0}}}, false},
      store.names());
  const auto steps = [&] { return store.sql("SELECT DISTINCT every_ns / 1000000000 FROM rolled ORDER BY 1"); };
  using Lines = std::vector<std::string>;
  write_hour(store, *writer, "proc.threads");
  settle(*writer, kStart + 4 * kDay);
  CHECK(steps() == Lines{"60"});
  settle(*writer, kStart + 9 * kDay);
  CHECK(steps() == Lines{"60"});
  CHECK(ask(store, "1h-count")[0].points[0].value == 720);
  settle(*writer, kStart + 20 * kDay);
  CHECK(steps() == Lines{"3600"});
  settle(*writer, kStart + 1000 * kDay);
  CHECK(ask(store, "1h-count")[0].points[0].value == 720);
  SUBCASE("removed levels are kept as everything") {
    writer.reset();
    writer = std::make_unique<Writer>(Options{store.path, {.retain_ns = 5 * kDay}, false}, store.names());
    settle(*writer, kStart + 1000 * kDay);
    CHECK(steps() == Lines{});
  }
}

TEST_CASE("SQL shows rolled points as points, with the time that they cover") {
  Rolled rolled("flow.sent.bytes");
  Database database(rolled.store.path, Access::read_only);
  REQUIRE(register_points(database.handle()));
  CHECK(Statement(database, "SELECT sum(value) FROM points WHERE metric = 'flow.sent.bytes'").number() == 719 * 720 / 2);
  CHECK(Statement(database, "SELECT count(*) FROM points WHERE host = 'ant'").number() == 60);
  CHECK(Statement(database, "SELECT count(*) FROM points WHERE time > ?1").number((kStart + 30 * kMinute) / 1'000'000) == 30);
  CHECK(Statement(database, "SELECT sum(count) FROM rolled_points").number() == 720);
  CHECK(Statement(database, "SELECT max(max) - min(min) FROM rolled_points WHERE host = 'ant'").number() == 719);
  CHECK(Statement(database, "SELECT last - first FROM rolled_points WHERE time = ?1").number((kStart + kMinute) / 1'000'000) == 11);
}

}  // namespace
}  // namespace atalaya::store::test
