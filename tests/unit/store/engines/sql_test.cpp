// SPDX-License-Identifier: Apache-2.0
// The view `points` over rows and chunks, in `atalaya sql` and in the extension for sqlite3.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "plugins/shared/store/sql/points_table.h"
#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

using Lines = std::vector<std::string>;
constexpr int64_t kStart = kNow - kNow % kHour;

Lines lines_of(Database &database, const std::string &sql) {
  Lines lines;
  Statement(database, sql).each([&](const Row &row) {
    std::string line;
    for (int i = 0; i < row.columns(); ++i) line += (i > 0 ? "|" : "") + std::string(row.text(i));
    lines.push_back(line);
  });
  return lines;
}

void write_windows(TestStore &store, Writer &writer, int64_t begin, int64_t end) {
  for (int64_t second = begin; second < end; ++second) {
    auto samples = store.samples();
    for (const std::string process : {"java", "sshd"})
      samples.metrics(kStart + second * kSecond, {{"host", "ant"}, {"process", process}, {"pid", "7"}, {"unit", "x.service"}})
          .real("proc.cpu.user", static_cast<double>(second % 100) / 8)
          .count("proc.threads", second);
    writer.write(samples.span(), kNow);
  }
}

void pack(Writer &writer) {
  for (int i = 0; i < 40; ++i) writer.write({}, kNow);
  while (writer.maintain(kNow + 2 * kDay)) {
  }
}

void check_queries(Database &all) {
  const auto check = [&](const std::string &sql, const Lines &expected) {
    INFO(sql);
    CHECK(lines_of(all, sql) == expected);
  };
  check("SELECT count(*), sum(value), typeof(value) FROM points WHERE metric = 'proc.threads' GROUP BY 3",
        {"3600|" + std::to_string(1799 * 1800) + "|integer"});
  check("SELECT count(*) FROM points WHERE metric = 'proc.cpu.user' AND process = 'java'", {"1800"});
  const std::string at = std::to_string(kStart / 1'000'000);
  check("SELECT time - " + at +
            ", host, pid, process, tags, value FROM points WHERE metric = 'proc.cpu.user' AND process = 'java' "
            "AND time BETWEEN " +
            at + " + 5000 AND " + at + " + 6000 ORDER BY time",
        {R"(5000|ant|7|java|{"unit":"x.service"}|0.625)", R"(6000|ant|7|java|{"unit":"x.service"}|0.75)"});
  check("SELECT count(*) FROM points WHERE time = " + at + " + 700000", {"4"});
  check("SELECT count(*) FROM points WHERE time > " + at + " + 0.5 AND time < '" + at + "' + 2000.5", {"8"});
  check("SELECT count(*) FROM points WHERE time < 'text' AND time > NULL", {"0"});
  check("SELECT count(*) FROM points WHERE metric = 'none'", {"0"});
  check(
      "SELECT a.value - b.value FROM points a JOIN points b USING (time, metric, process) WHERE a.metric = 'proc.threads' AND "
      "a.time = " +
          at + " + 10000 AND a.process = 'java'",
      {"0"});
}

TEST_CASE("the view covers chunks and rows, and shows nothing twice") {
  TestStore store;
  Writer writer = store.writer();
  write_windows(store, writer, 0, 1300);
  pack(writer);
  write_windows(store, writer, 1300, 1800);
  REQUIRE(store.row_count() == 1000);
  REQUIRE(store.point_count() == 2000);  // visible to plain SQL: recent rows

  SUBCASE("registered") {
    Database all(store.path, Access::read_only);
    REQUIRE(register_points(all.handle()));
    check_queries(all);
  }
  SUBCASE("loaded as an extension") {
    Database all(store.path, Access::read_only);
    REQUIRE(sqlite3_db_config(all.handle(), SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr) == SQLITE_OK);
    char *error = nullptr;
    const int code = sqlite3_load_extension(all.handle(), EXTENSION, nullptr, &error);
    INFO(std::string(error == nullptr ? "" : error));
    REQUIRE(code == SQLITE_OK);
    check_queries(all);
  }
  SUBCASE("with a late row that replaces a point of a chunk") {
    auto samples = store.samples();
    samples.metrics(kStart + 700 * kSecond, {{"host", "ant"}, {"process", "java"}, {"pid", "7"}, {"unit", "x.service"}})
        .count("proc.threads", -1);
    writer.write(samples.span(), kNow);
    Database all(store.path, Access::read_only);
    REQUIRE(register_points(all.handle()));
    CHECK(lines_of(all, "SELECT count(*), sum(value) FROM points WHERE metric = 'proc.threads'") ==
          Lines{"3600|" + std::to_string(1799 * 1800 - 701)});
  }
  SUBCASE("a damaged chunk is an error that names it") {
    Database(store.path, Access::read_write).execute("UPDATE chunks SET head = zeroblob(20) WHERE id = 1");
    Database all(store.path, Access::read_only);
    REQUIRE(register_points(all.handle()));
    CHECK_THROWS_WITH_AS(lines_of(all, "SELECT count(*) FROM points"),
                         doctest::Contains("chunk 1 is damaged; end the agent, and run `atalaya store repair`"), Error);
  }
}

TEST_CASE("in a database that is no store the view is left alone") {
  const Folder folder;
  Database database(folder / "a.db", Access::read_write);
  database.execute("CREATE TABLE points(x); INSERT INTO points VALUES(5)");
  REQUIRE(register_points(database.handle()));
  CHECK(database.number("SELECT x FROM points") == 5);
  CHECK_THROWS_WITH_AS(lines_of(database, "SELECT * FROM atalaya_chunk_points"), doctest::Contains("no such table: main."), Error);
}

}  // namespace
}  // namespace atalaya::store::test
