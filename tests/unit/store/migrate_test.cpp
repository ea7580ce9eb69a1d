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
  CHECK(store.number("PRAGMA user_version") == 3);
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
  SUBCASE("packed") {
    for (int i = 0; i < 40; ++i) writer.write({}, kNow);
    while (writer.maintain(kNow + 2 * kDay)) {
    }
    CHECK(store.number("SELECT count(*) FROM samples") == 0);
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

TEST_CASE("stacks of schema 2 become a tree while the agent works: they are there before, meanwhile and after") {
  TestStore store;
  make_store(store, "schema-2.sql");
  Writer writer = store.writer();
  Lines expected = expected_stacks();
  CHECK(lines_of_stacks(store.path) == expected);
  CHECK(store.number("SELECT count(*) FROM stacks") == 0);  // nothing is read before the agent is ready

  // One of an old window comes once more, another one of it is new.
  auto samples = store.samples();
  const auto stack = [&](std::string_view text, int64_t count) {
    samples
        .add(ATALAYA_STACK, 1'700'000'000 * kSecond, 10 * kSecond,
             {{"host", "ant"}, {"pid", "4"}, {"process", "java"}, {"profile", "cpu"}}, text)
        .count("profile.samples", count);
  };
  stack("main;run", 77);
  stack("main;new", 78);
  writer.write(samples.span(), kNow);
  *std::find(expected.begin(), expected.end(), "1700000000 main;run 2011") = "1700000000 main;run 77";
  expected.push_back("1700000000 main;new 78");
  std::sort(expected.begin(), expected.end());
  std::map<std::string, std::set<int64_t>> numbers;
  CHECK(lines_of_stacks(store.path, &numbers) == expected);
  for (const auto &[text, all] : numbers) CHECK(all.size() == 1);

  for (int i = 0; i < 3; ++i) {
    writer.maintain(kNow);
    CHECK(lines_of_stacks(store.path) == expected);
  }
  CHECK(store.number("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'old%'") == 0);
  CHECK(store.sql("SELECT DISTINCT folded FROM stack_points ORDER BY folded") ==
        Lines{"main;new", "main;run", "main;run;work_[j]", "main;run;work_[j];read_[k]"});
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
