// SPDX-License-Identifier: Apache-2.0
// Stores of released versions, brought up to date. The tests run in the folder of the sources.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
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
  CHECK(store.number("PRAGMA user_version") == 2);
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

}  // namespace
}  // namespace atalaya::store::test
