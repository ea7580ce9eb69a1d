// SPDX-License-Identifier: Apache-2.0
// Roll-ups: the same answers from less.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "plugins/query/engine.h"
#include "plugins/query/pieces.h"
#include "plugins/store/sql/points_table.h"
#include "tests/unit/store/fixture.h"

namespace atalaya::store::test {
namespace {

constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kStart = kNow - kNow % kDay;
constexpr int64_t kAfter = 2 * kDay;
constexpr int64_t kLater = kStart + 10 * kDay;
constexpr const char *kMetrics[] = {"proc.cpu.user", "flow.sent.bytes", "self.samples.in", "some.counter"};

Limits with_rollup(std::vector<RollupLevel> levels = {{kAfter, kMinute, {}}}) {
  return {.rollup = std::move(levels)};
}

void settle(Writer &writer, int64_t now_ns) {
  for (int i = 0; i < 40; ++i) writer.write({}, now_ns);  // whatever was written to is quiet
  while (writer.maintain(now_ns)) {
  }
}

std::vector<query::Answer> ask(const TestStore &store, const std::string &every, query::Edge edge = query::Edge::end,
                               bool rate = false, Range range = {kStart, kStart + kDay}) {
  SqliteStore reader(store.path);
  query::Query question;
  question.metrics = {"*"};
  question.range = range;
  question.group = false;
  question.edge = edge;
  if (!every.empty()) query::set_downsample(question, "every", every);
  if (rate) question.rate = query::Rate{};
  const query::Limits limits;
  query::Budget budget(limits);
  return query::answers_to(question, reader, budget);
}

void check_same(const std::vector<query::Answer> &a, const std::vector<query::Answer> &b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].metric == b[i].metric);
    CHECK(a[i].tags == b[i].tags);
    REQUIRE(a[i].points.size() == b[i].points.size());
    for (size_t k = 0; k < a[i].points.size(); ++k) {
      REQUIRE(a[i].points[k].time_ns == b[i].points[k].time_ns);
      REQUIRE(a[i].points[k].value == doctest::Approx(b[i].points[k].value).epsilon(1e-12));
    }
  }
}

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

TEST_CASE("rolled up, a store gives the same answers for steps that are multiples of its own") {
  std::mt19937 random(28);
  const std::vector<std::vector<RollupLevel>> choices = {
      {{kAfter, kMinute, {}}}, {{kAfter, 10 * kMinute, {}}}, {{kAfter, kMinute, {}}, {3 * kDay, 10 * kMinute, {}}}};
  for (const auto &levels : choices) {
    TestStore store;
    Writer writer = store.writer(with_rollup(levels));
    write_random(store, writer, random);
    settle(writer, kStart + kDay);
    REQUIRE(store.number("SELECT count(*) FROM rolled") == 0);
    const auto every = [&](const std::string &step, const std::string &function) { return step + "-" + function; };
    std::map<std::pair<std::string, std::string>, std::vector<query::Answer>> before;
    for (const std::string step : {"10m", "1h", "0all"})
      for (const std::string &function : functions()) before[{step, function}] = ask(store, every(step, function));
    const auto defaults = ask(store, "10m");
    settle(writer, kLater);
    REQUIRE(store.number("SELECT count(*) FROM rolled") > 0);
    REQUIRE(store.number("SELECT count(*) FROM chunks") == 0);
    for (const auto &[asked, answer] : before) {
      CAPTURE(asked.first);
      CAPTURE(asked.second);
      check_same(ask(store, every(asked.first, asked.second)), answer);
    }
    check_same(ask(store, "10m"), defaults);
    CHECK(store.sql("PRAGMA integrity_check") == std::vector<std::string>{"ok"});
  }
}

}  // namespace
}  // namespace atalaya::store::test
