// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/rows/block.h"

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

using Values = std::vector<std::pair<int64_t, std::string>>;  // metric and the text of its number
using All = std::vector<std::pair<int64_t, Values>>;          // by entity

std::string text_of(const All &samples) {
  BlockText text;
  for (const auto &[entity, values] : samples) {
    text.begin(entity);
    for (const auto &[metric, number] : values) text.value(metric) += number;
    text.end();
  }
  return std::string(text.finish());
}

std::optional<All> read(std::string_view text) {
  All all;
  BlockReader samples(text);
  while (samples.next()) {
    Values &values = all.emplace_back(samples.entity(), Values{}).second;
    FieldReader fields(samples.fields());
    while (fields.next()) values.emplace_back(fields.metric(), fields.value_text());
    if (fields.damaged()) return std::nullopt;
  }
  if (samples.damaged()) return std::nullopt;
  return all;
}

std::string changed(std::string_view stored, std::string_view fields, BlockChange change) {
  BlockText out;
  return change_block(stored, fields, change, out) ? std::string(out.finish()) : "damaged";
}

TEST_CASE("neighbours with the same metrics are a group, in which an entity without a sample is null") {
  CHECK(text_of({}) == "[]");
  CHECK(text_of({{3, {{1, "5"}}}, {4, {{1, "0.0"}}}, {6, {{1, "-2.5"}}}}) == "[[3,[1],[5,0.0,null,-2.5]]]");
  CHECK(text_of({{3, {{1, "5"}, {2, "6"}}}, {4, {}}, {5, {{1, "7"}, {2, "8"}}}}) == "[[3,[1,2],[[5,6],null,[7,8]]]]");
  CHECK(text_of({{3, {{1, "5"}}}, {4, {{2, "6"}}}}) == "[[3,[1],[5]],[4,[2],[6]]]");
  CHECK(text_of({{3, {{1, "5"}}}, {900, {{1, "6"}}}}) == "[[3,[1],[5]],[900,[1],[6]]]");
}

// Against SQLite's own JSON, too; and a row without its end is never one.
TEST_CASE("whatever samples a row has, they are read back, and no part of its text is a row") {
  Database sqlite(":memory:", Access::read_write);
  std::mt19937 random(90);
  const std::vector<std::string> numbers = {"0",     "0.0",   "-1",    "9223372036854775807", "-9223372036854775808",
                                            "12.34", "1e300", "5e-324"};
  for (int round = 0; round < 20; ++round) {
    All samples;
    int64_t entity = 0;
    for (int i = 0; i < 40; ++i) {
      entity += 1 + static_cast<int64_t>(random() % 3 == 0 ? random() % 40 : 0);
      Values values;
      const uint64_t shape = random() % 3;
      for (uint64_t field = 0; field <= shape; ++field)
        values.emplace_back(static_cast<int64_t>(10 * shape + field), numbers[random() % numbers.size()]);
      samples.emplace_back(entity, std::move(values));
    }
    const std::string text = text_of(samples);
    REQUIRE(read(text) == samples);
    REQUIRE(last_block_of(text) == block_of(entity));
    size_t rows = 0;
    for (size_t size = 0; size < text.size(); ++size) rows += read(std::string_view(text).substr(0, size)).has_value() ? 1 : 0;
    REQUIRE(rows == 0);
    std::string entities;
    Statement(sqlite,
              "SELECT group_concat(json_extract(?1, '$[' || g.key || '][0]') + i.key) FROM json_each(?1) g, "
              "json_each(?1, '$[' || g.key || '][2]') i WHERE i.type <> 'null'")
        .each([&](const Row &row) { entities = row.text(0); }, std::string_view(text));
    std::string expected;
    for (const auto &[id, values] : samples) expected += (expected.empty() ? "" : ",") + std::to_string(id);
    REQUIRE(entities == expected);
  }
}

TEST_CASE("a value put into a row replaces the same field and keeps the others") {
  const auto put = [](std::string_view stored, std::string_view fields) { return changed(stored, fields, BlockChange::put); };
  CHECK(put("[[3,[1,2],[[5,6]]]]", "[[3,[2],[7.5]]]") == "[[3,[2,1],[[7.5,5]]]]");
  CHECK(put("[[3,[1],[5]],[9,[1],[1]]]", "[[2,[1],[2]],[9,[4],[-1e300]],[11,[1],[3]]]") ==
        "[[2,[1],[2,5]],[9,[4,1],[[-1e300,1]]],[11,[1],[3]]]");
  CHECK(put("[]", "[[3,[1],[5]]]") == "[[3,[1],[5]]]");
}

TEST_CASE("a row of an older schema is read, and becomes a present one when it is changed") {
  const std::string old = R"({"3":{"1":5,"2":-6.5},"9":{"1":1e300}})";
  CHECK(read(old) == All{{3, {{1, "5"}, {2, "-6.5"}}}, {9, {{1, "1e300"}}}});
  CHECK(read("{}") == All{});
  CHECK(changed(old, "[[9,[1],[7]]]", BlockChange::put) == "[[3,[1,2],[[5,-6.5]]],[9,[1],[7]]]");
}

TEST_CASE("a value removed from a row is gone, whatever it was") {
  const auto remove = [](std::string_view stored, std::string_view fields) { return changed(stored, fields, BlockChange::remove); };
  CHECK(remove("[[3,[1,2],[[5,6]]],[4,[1],[1]]]", "[[3,[2],[7]],[4,[1],[0,0]]]") == "[[3,[1],[5]]]");
  CHECK(remove("[[3,[1],[5]]]", "[[3,[1],[5]]]") == "[]");
}

TEST_CASE("a text that is no row is called damaged") {
  for (const char *block : {"",
                            "{",
                            R"({"3":5})",
                            R"({"3":{"1":5})",
                            R"({"3":{"1":5}},)",
                            R"({"3":{"1":5}}})",
                            R"({3:{"1":5}})",
                            R"({"3":{"1":x}})",
                            R"({"3":{"1":5},"3":{"1":6}})",
                            R"({"4":{"1":5},"3":{"1":6}})",
                            R"({"-1":{"1":5}})",
                            "[[3,[1],[5]]]]",
                            "[[3,[1],[5]],]",
                            "[[3,[1],[x]]]",
                            "[[3,[1],[5,]]]",
                            "[[3,[1],[]]]",
                            "[[3,[],[5]]]",
                            "[[3,[1,2],[5]]]",
                            "[[3,[1,2],[[5]]]]",
                            "[[3,[1],[[5]]]]",
                            "[[3,[1,2],[[5,6,7]]]]",
                            "[[-1,[1],[5]]]",
                            "[[3,[1],[5]],[3,[1],[6]]]",
                            "[[3,[1],[5,6]],[4,[1],[6]]]",
                            "[[9223372036854775807,[1],[5,6]]]",
                            "[[3,[1],[nullx]]]",
                            "[[3, [1],[5]]]"}) {
    CAPTURE(block);
    CHECK(changed(block, "[[3,[2],[5]]]", BlockChange::put) == "damaged");
  }
}

// Batches of everything that makes "the last one wins" hard: several times and durations in a batch, samples that share a series,
// parts of a window that come later.
TEST_CASE("for any parts of a series, each time has its last value, in SQL and in a scan") {
  TestStore store;
  Writer writer = store.writer();
  std::mt19937 random(26);
  std::map<std::tuple<int64_t, int64_t, std::string>, int64_t> expected;  // time, pid, metric
  int64_t value = 0;
  for (int batch = 0; batch < 60; ++batch) {
    auto samples = store.samples();
    for (int i = 0; i < 100; ++i) {
      const int64_t time_ns = kNow + static_cast<int64_t>(random() % 4) * kSecond, pid = random() % 80;
      const std::string pid_text = std::to_string(pid);
      samples.metrics(time_ns, {{"pid", pid_text}}, random() % 3 == 0 ? 0 : kSecond);
      for (int field = 0; field < 3; ++field) {
        const std::string metric = "m" + std::to_string(random() % 4);
        samples.count(metric, ++value);
        expected[{time_ns, pid, metric}] = value;
      }
    }
    writer.write(samples.span(), kNow);
  }
  std::vector<std::string> lines;
  lines.reserve(expected.size());
  for (const auto &[key, number] : expected)
    lines.push_back(std::to_string(std::get<0>(key) / 1'000'000) + "|" + std::to_string(std::get<1>(key)) + "|" + std::get<2>(key) +
                    "|" + std::to_string(number));
  CHECK(store.sql("SELECT time, pid, metric, value FROM points ORDER BY time, pid, metric") == lines);
  for (int64_t pid = 0; pid < 80; ++pid) {
    for (const Point &point : store.scan("m1", "pid", std::to_string(pid)))
      CHECK(point.count == expected.at({point.time_ns, pid, "m1"}));
  }
}

// Windows with one batch have rows of several blocks; others get some of their entities again, and entities before, between and
// after those that they have.
TEST_CASE("rows of several blocks answer as those of one, and are divided when more comes") {
  constexpr int64_t kWindows = 30;
  constexpr uint64_t kPids = 1500;
  TestStore store;
  Writer writer = store.writer();
  std::mt19937 random(75);
  std::map<std::tuple<int64_t, int64_t, std::string>, int64_t> expected;  // time, pid, metric
  int64_t value = 0;
  const auto put = [&](Samples &samples, int64_t time_ns, uint64_t pid, int64_t duration_ns) {
    const std::string pid_text = std::to_string(pid);
    samples.metrics(time_ns, {{"pid", pid_text}}, duration_ns);
    for (uint64_t field = 0; field <= pid % 40 / 13; ++field) {
      const std::string metric = "m" + std::to_string(field);
      samples.count(metric, ++value);
      expected[{time_ns, pid, metric}] = value;
    }
  };
  const auto check = [&] {
    std::vector<std::string> lines;
    std::map<int64_t, size_t> points;  // of m0, by pid
    for (const auto &[key, number] : expected) {
      const auto &[time_ns, pid, metric] = key;
      lines.push_back(std::to_string(time_ns) + "|" + std::to_string(pid) + "|" + metric + "|" + std::to_string(number));
      if (metric == "m0") ++points[pid];
    }
    CHECK(store.sql(
              "SELECT (time - 1700000000000) * 1000000 + 1700000000000000000, pid, metric, value FROM points ORDER BY 1, 2, 3") ==
          lines);
    for (int i = 0; i < 60; ++i) {
      const auto pid = static_cast<int64_t>(random() % kPids);
      const auto found = store.scan("m0", "pid", std::to_string(pid));
      CHECK(found.size() == points[pid]);
      for (const Point &point : found) CHECK(point.count == expected.at({point.time_ns, pid, "m0"}));
    }
  };
  for (int64_t window = 0; window < kWindows; ++window) {
    auto samples = store.samples();
    for (uint64_t pid = random() % 3; pid < kPids; pid += 1 + random() % 9) put(samples, kNow + window * kSecond, pid, kSecond);
    writer.write(samples.span(), kNow);
  }
  CHECK(store.number("SELECT count(*) FROM samples") * 2 < kWindows * static_cast<int64_t>(kPids) / 32);
  check();
  for (int batch = 0; batch < 80; ++batch) {
    auto samples = store.samples();
    for (int i = 0; i < 5; ++i)
      put(samples, kNow + static_cast<int64_t>(random() % kWindows) * kSecond, random() % kPids, random() % 3 == 0 ? 0 : kSecond);
    writer.write(samples.span(), kNow);
  }
  check();
}

TEST_CASE("a batch for a damaged block is refused with its place, and others are not") {
  TestStore store;
  Writer writer = store.writer();
  const auto write = [&](const char *process) {
    auto samples = store.samples();
    samples.metrics(kNow, {{"process", process}}).count("x", 1);
    writer.write(samples.span(), kNow);
  };
  write("a");
  Database(store.path, Access::read_write).execute("UPDATE samples SET fields = '{'");
  CHECK_THROWS_WITH_AS(
      write("b"),
      ("database " + store.path +
       ": the row of window 1, block 0 in the table samples is damaged; end the agent, and run `atalaya store repair`")
          .c_str(),
      Error);
  Database(store.path, Access::read_write).execute("DELETE FROM samples");
  write("b");
  CHECK(store.point_count() == 1);
}

}  // namespace
}  // namespace atalaya::store::test
