// SPDX-License-Identifier: Apache-2.0
// Stores of released versions, brought up to date. The tests run in the folder of the sources.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/store/fixture.h"

namespace atalaya::store::test {
namespace {

using Lines = std::vector<std::string>;

void make_store(const TestStore &store, const std::string &script) {
  std::ifstream file("tests/fixtures/store/" + script);
  const std::string sql{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(!sql.empty());
  Database(store.path, Access::read_write).execute(sql.c_str());
}

const char *const kAll = "SELECT time, metric, host, pid, process, tags, value FROM points ORDER BY time, process, metric";

TEST_CASE("a store of schema 1 is brought up to date: nothing is lost, and it is packed like any other") {
  TestStore store;
  make_store(store, "schema-1.sql");
  const Lines before = store.sql(kAll);
  REQUIRE(before.size() == 2800);
  CHECK_THROWS_WITH_AS(
      SqliteStore(store.path),
      ("database " + store.path +
       " has the older schema version 1; an agent that writes it brings it up to date when it starts: run a pipeline "
       "with the sink \"sqlite\"")
          .c_str(),
      Error);

  Writer writer = store.writer();
  CHECK(store.number("PRAGMA user_version") == 5);
  CHECK(store.sql(kAll) == before);
  SqliteStore reader(store.path);
  const auto values = scan(reader, {{"proc.threads"}, {}, {}});
  CHECK(values.size() == 2);

  SUBCASE("with a sample of an old window, and a new one") {
    auto samples = store.samples();
    samples.metrics(1'699'999'201 * kSecond, {{"host", "ant"}, {"process", "sshd"}, {"pid", "8"}}).real("proc.cpu.user", 5);
    samples.metrics(kNow, {{"host", "ant"}, {"process", "sshd"}, {"pid", "8"}}).real("proc.cpu.kernel", 6);
    writer.write(samples.span(), kNow);
    CHECK(store.scan("proc.cpu.user", "process", "sshd").front().value == 5);
    CHECK(store.scan("proc.cpu.kernel", "process", "sshd").size() == 1);
    CHECK(store.number("SELECT min(id) FROM windows WHERE time_ns = 1700000000000000000") == 711);
  }
  SUBCASE("rows stay where they are until their window is written to: then they lie in one place") {
    CHECK(store.number("SELECT count(*) FROM old_samples") == 1400);
    auto samples = store.samples();
    samples.metrics(1'699'999'201 * kSecond, {{"host", "ant"}, {"process", "sshd"}, {"pid", "8"}}, 5 * kSecond)
        .real("proc.cpu.user", 5);
    samples.metrics(1'699'999'202 * kSecond, {{"host", "ant"}, {"process", "sshd"}, {"pid", "8"}}).count("proc.threads", 6);
    writer.write(samples.span(), kNow);
    CHECK(store.number("SELECT count(*) FROM old_samples") == 1396);
    CHECK(store.row_count() == 5);  // one of them in a window of its own
    CHECK(store.point_count() == 2800);
    CHECK(store.scan("proc.cpu.user", "process", "sshd").front() == Point{1'699'999'201 * kSecond, 5 * kSecond, 5, {}});
    CHECK(store.scan("proc.threads", "process", "sshd").at(1).count == 6);
    CHECK(store.scan("proc.threads", "process", "sshd").size() == 700);
  }
  SUBCASE("what an entity has is not known until its rows are packed: then it is") {
    const Selection other{{"profile.samples"}, {}, {}};
    CHECK(reader.series(other, SIZE_MAX).size() == 2);
    CHECK(scan(reader, other) == std::vector<std::vector<Point>>(2));
    for (int i = 0; i < 40; ++i) writer.write({}, kNow);
    while (writer.maintain(kNow + 2 * kDay)) {
    }
    CHECK(reader.series(other, SIZE_MAX).empty());
    CHECK(reader.series({{}, {}, {}}, SIZE_MAX).size() == 4);
    CHECK(store.number("SELECT count(*) FROM shapes WHERE id = 0") == 0);
  }
  SUBCASE("a row that is damaged stays, and keeps its window from being packed, not the others") {
    Database(store.path, Access::read_write).execute("UPDATE old_samples SET fields = '{\"1\":' WHERE window = 15 AND entity = 4");
    for (int i = 0; i < 40; ++i) writer.write({}, kNow);
    while (writer.maintain(kNow + 2 * kDay)) {
    }
    CHECK(store.sql("SELECT window, entity FROM old_samples") == Lines{"15|4"});
    CHECK(store.row_count() == 1);
    CHECK(store.scan("proc.threads", "process", "sshd").size() == 700);
  }
  SUBCASE("packed") {
    for (int i = 0; i < 40; ++i) writer.write({}, kNow);
    while (writer.maintain(kNow + 2 * kDay)) {
    }
    CHECK(store.row_count() == 0);
    CHECK(store.number("SELECT count(*) FROM old_samples") == 0);
    CHECK(scan(reader, {{"proc.threads"}, {}, {}}) == values);
    CHECK(scan(reader, {{"proc.cpu.user"}, {{"process", {"java"}}}, {}}).at(0).at(1) ==
          Point{1'699'999'202 * kSecond, kSecond, 12.25, {}});
    CHECK(reader.series({{"profile.samples"}, {}, {}}, SIZE_MAX).empty());  // only stacks have it
    CHECK(reader.series({{}, {}, {kNow + kHour, kNow + kDay}}, SIZE_MAX).empty());
  }
  int64_t stacks = 0, spans = 0;
  reader.stacks({}, [&](const Stack &stack) {
    CHECK(stack.folded == "main;run");
    CHECK(stack.time_ns == 1'699'999'210 * kSecond);
    ++stacks;
  });
  reader.spans({}, [&](const Span &span) {
    CHECK(span.name == "map");
    ++spans;
  });
  CHECK(stacks == 1);
  CHECK(spans == 1);
}

// What `stacks` hands over: time, text, number of samples.
Lines lines_of_stacks(const std::string &path, std::map<std::string, std::set<int64_t>> *numbers = nullptr) {
  Lines lines;
  SqliteStore(path).stacks({}, [&](const Stack &stack) {
    lines.push_back(std::to_string(stack.time_ns / kSecond) + " " + std::string(stack.folded) + " " +
                    std::to_string(stack.fields[0].count));
    if (numbers != nullptr) (*numbers)[std::string(stack.folded)].insert(stack.number);
  });
  std::sort(lines.begin(), lines.end());
  return lines;
}

Lines expected_stacks() {
  Lines lines;
  lines.reserve(60);
  for (int64_t window = 2001; window <= 2020; ++window)
    for (const auto &[id, text] : {std::pair{1, "main;run"}, {2, "main;run;work_[j];read_[k]"}, {3, "main;run;work_[j]"}})
      lines.push_back(std::to_string(1'699'999'900 + (window - 2000) * 10) + " " + text + " " + std::to_string(window + id));
  std::sort(lines.begin(), lines.end());
  return lines;
}

const char *const kStackPoints =
    "SELECT time / 1000, folded, value FROM stack_points WHERE metric = 'profile.samples' AND host = 'ant' AND process = 'java' "
    "ORDER BY 1, 2";

TEST_CASE("stacks of schema 2 stay where they are, and are read there beside those of now") {
  TestStore store;
  make_store(store, "schema-2.sql");
  Writer writer = store.writer();
  Lines expected = expected_stacks();
  CHECK(lines_of_stacks(store.path) == expected);
  CHECK(store.sql(kStackPoints).size() == 60);
  const auto add = [](Samples &samples, int64_t second, std::string_view text, int64_t count, int64_t seconds = 10) {
    samples
        .add(ATALAYA_STACK, second * kSecond, seconds * kSecond,
             {{"host", "ant"}, {"pid", "4"}, {"process", "java"}, {"profile", "cpu"}}, text)
        .count("profile.samples", count);
  };
  const auto check = [&] {
    std::sort(expected.begin(), expected.end());
    std::map<std::string, std::set<int64_t>> numbers;
    CHECK(lines_of_stacks(store.path, &numbers) == expected);
    std::set<int64_t> all;
    for (const auto &[text, of_text] : numbers) {
      CHECK(of_text.size() == 1);
      all.insert(*of_text.begin());
    }
    CHECK(all.size() == numbers.size());
    Lines points;
    for (std::string line : store.sql(kStackPoints)) {
      std::replace(line.begin(), line.end(), '|', ' ');
      points.push_back(line);
    }
    std::sort(points.begin(), points.end());
    CHECK(points == expected);
  };

  SUBCASE("a new window") {
    auto samples = store.samples();
    add(samples, 1'700'009'000, "main;run", 5);
    add(samples, 1'700'009'000, "main;other", 6);
    writer.write(samples.span(), kNow);
    expected.insert(expected.end(), {"1700009000 main;run 5", "1700009000 main;other 6"});
    check();
    CHECK(store.number("SELECT count(*) FROM old_stacks") == 60);
  }
  SUBCASE("an old window comes once more, in part: the last one wins, the others of it stay") {
    auto samples = store.samples();
    add(samples, 1'700'000'000, "main;run", 77);
    add(samples, 1'700'000'000, "main;new", 78);
    writer.write(samples.span(), kNow);
    *std::find(expected.begin(), expected.end(), "1700000000 main;run 2011") = "1700000000 main;run 77";
    expected.emplace_back("1700000000 main;new 78");
    check();
    // The window lies in one place.
    CHECK(store.number("SELECT count(*) FROM old_stacks") == 57);
    CHECK(store.number("SELECT count(*) FROM windows WHERE id IN (SELECT window FROM stacks) AND id IN "
                       "(SELECT window FROM old_stacks)") == 0);
  }
  SUBCASE("an old window comes once more with another length") {
    auto samples = store.samples();
    add(samples, 1'700'000'000, "main;run", 77, 5);
    writer.write(samples.span(), kNow);
    *std::find(expected.begin(), expected.end(), "1700000000 main;run 2011") = "1700000000 main;run 77";
    check();
  }
  SUBCASE("only the range that is asked for is read") {
    Lines lines;
    SqliteStore(store.path).stacks({{}, {}, {1'700'000'000 * kSecond, 1'700'000'020 * kSecond}}, [&](const Stack &stack) {
      lines.push_back(std::to_string(stack.time_ns / kSecond));
    });
    CHECK(lines == Lines{"1700000010", "1700000010", "1700000010", "1700000020", "1700000020", "1700000020"});
  }
  SUBCASE("a caller that has enough ends it") {
    int calls = 0;
    SqliteStore reader(store.path);
    CHECK_THROWS_AS(reader.stacks({},
                                  [&](const Stack &) {
                                    if (++calls == 4) throw Error(Cause::permanent, "enough");
                                  }),
                    Error);
    CHECK(calls == 4);
    CHECK(lines_of_stacks(store.path) == expected);
  }
}

TEST_CASE("windows of schema 2 stay when their samples are packed, because of their stacks") {
  TestStore store;
  make_store(store, "schema-2.sql");
  Database(store.path, Access::read_write)
      .execute(
          "UPDATE windows SET packed = 1 WHERE id < 2010; INSERT INTO samples SELECT id, 4, '{\"1\":5}' FROM windows WHERE id < "
          "2010");
  Writer writer = store.writer();
  while (writer.maintain(kNow + 2 * kDay)) {
  }
  CHECK(store.number("SELECT count(*) FROM windows WHERE packed = 1") == 0);
  CHECK(store.number("SELECT count(*) FROM old_samples") == 0);
  CHECK(lines_of_stacks(store.path) == expected_stacks());
}

TEST_CASE("stacks of schema 2 expire like others, window by window, and their texts after the last") {
  TestStore store;
  make_store(store, "schema-2.sql");
  const Lines expected = expected_stacks();
  const int64_t arrived_ns = 1'700'000'000 * kSecond;  // the tenth of twenty windows
  Writer writer = store.writer({.retain_ns = kDay});
  writer.maintain(arrived_ns + kDay);
  CHECK(store.number("SELECT count(*) FROM windows") == 11);
  CHECK(store.number("SELECT count(*) FROM old_stacks") == 33);
  Lines left;
  std::copy_if(expected.begin(), expected.end(), std::back_inserter(left), [](const auto &line) { return line >= "1700000000"; });
  CHECK(lines_of_stacks(store.path) == left);
  for (int i = 0; i < 3; ++i) writer.maintain(arrived_ns + 3 * kDay);
  CHECK(store.number("SELECT count(*) FROM windows") == 0);
  CHECK(store.number("SELECT count(*) FROM old_stacks") == 0);
  auto samples = store.samples();
  samples.metrics(arrived_ns + 3 * kDay, {{"host", "ant"}}).real("a", 1);
  writer.write(samples.span(), arrived_ns + 3 * kDay);
  writer.maintain(arrived_ns + 5 * kDay);
  CHECK(store.number("SELECT count(*) FROM old_stack_texts") == 0);
}

TEST_CASE("a store of schema 2 that is too large loses no newer window than it must") {
  TestStore store;
  make_store(store, "schema-2.sql");
  {
    // Some 4 MB of stacks in each of the first two windows.
    Database database(store.path, Access::read_write);
    for (const char *window : {"2001", "2002"})
      database.execute(("WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 1099) INSERT INTO stacks "
                        "SELECT " +
                        std::string(window) + ", 3, i, '{\"10\":1' || printf('%1000s', '') || '}' FROM n")
                           .c_str());
  }
  const int64_t bytes = store.number("PRAGMA page_count") * store.number("PRAGMA page_size");
  CHECK(bytes > 8'000'000);
  Writer writer = store.writer({.max_bytes = bytes - 6'000'000});
  for (int i = 0; i < 5; ++i) writer.maintain(kNow);
  CHECK(store.number("SELECT min(id) FROM windows") == 2003);
  CHECK(store.number("SELECT count(*) FROM windows") == 18);
}

TEST_CASE("chunks of schema 2 are read as before") {
  TestStore store;
  make_store(store, "schema-2.sql");
  const Writer writer = store.writer();
  const auto values = scan(*open_store(store.path), {{"proc.threads"}, {}, {}});
  REQUIRE(values.size() == 2);
  for (const auto &series : values) CHECK(series.size() == 700);
}

}  // namespace
}  // namespace atalaya::store::test
