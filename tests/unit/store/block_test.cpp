// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/rows/block.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>
#include <tuple>

#include "tests/unit/store/fixture.h"

namespace atalaya::store::test {
namespace {

std::string changed(std::string_view stored, std::string_view fields, BlockChange change) {
  std::string out;
  return change_block(stored, fields, change, out) ? out : "damaged";
}

TEST_CASE("a value put into a block replaces the same field and keeps the others") {
  const auto put = [](std::string_view stored, std::string_view fields) { return changed(stored, fields, BlockChange::put); };
  CHECK(put(R"({"3":{"1":5,"2":6}})", R"({"3":{"2":7.5}})") == R"({"3":{"2":7.5,"1":5}})");
  CHECK(put(R"({"3":{"1":5},"9":{"1":1}})", R"({"2":{"1":2},"9":{"4":-1e300},"11":{"1":3}})") ==
        R"({"2":{"1":2},"3":{"1":5},"9":{"4":-1e300,"1":1},"11":{"1":3}})");
  CHECK(put("{}", R"({"3":{"1":5}})") == R"({"3":{"1":5}})");
}

TEST_CASE("a value removed from a block is gone, whatever it was") {
  const auto remove = [](std::string_view stored, std::string_view fields) { return changed(stored, fields, BlockChange::remove); };
  CHECK(remove(R"({"3":{"1":5,"2":6},"4":{"1":1}})", R"({"3":{"2":7},"4":{"1":0},"5":{"1":0}})") == R"({"3":{"1":5}})");
  CHECK(remove(R"({"3":{"1":5}})", R"({"3":{"1":5}})") == "{}");
}

TEST_CASE("a block that is none is called damaged") {
  for (const char *block : {"", "{", "[]", R"({"3":5})", R"({"3":{"1":5})", R"({"3":{"1":5}},)", R"({"3":{"1":5}}})",
                            R"({3:{"1":5}})", R"({"3":{"1":x}})", R"({"3":{"1":5},"3":{"1":6}})", R"({"4":{"1":5},"3":{"1":6}})"})
    CHECK(changed(block, R"({"3":{"2":5}})", BlockChange::put) == "damaged");
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
