// SPDX-License-Identifier: Apache-2.0
// Damaged stores: readers leave the damage out and say so; a repair keeps the rest.
#include "plugins/shared/store/sqlite/repair.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <tuple>

#include "tests/unit/store/engines/fixture.h"
#include "tests/unit/store/engines/old_schema.h"

namespace atalaya::store::test {
namespace {

using PointsOf = std::map<std::tuple<std::string, std::string, int64_t>, double>;  // metric, process, time

// Windows of a second with chunks, rows, stacks and spans.
void fill(TestStore &store, int64_t seconds, bool pack) {
  Writer writer = store.writer();
  for (int64_t second = 1; second <= seconds; ++second) {
    const int64_t time_ns = kNow + second * kSecond;
    auto samples = store.samples();
    for (const std::string_view process : {"a", "b", "c", "d"})
      samples.metrics(time_ns, {{"host", "ant"}, {"process", process}})
          .real("x", static_cast<double>(second) / 8)
          .count("n", second * 31);
    samples.add(ATALAYA_STACK, time_ns, kSecond, {{"host", "ant"}, {"process", "a"}}, "main;work").count("samples", second);
    samples.add(ATALAYA_SPAN, time_ns, kSecond, {{"host", "ant"}}, "task").count("bytes", second);
    writer.write(samples.span(), time_ns);
    writer.maintain(time_ns);
  }
  // Only what is quiet is packed.
  for (int i = 0; pack && i < 40; ++i) {
    auto later = store.samples();
    later.metrics(kNow + kDay + i, {{"host", "clock"}}).real("tick", 1);
    writer.write(later.span(), kNow);
  }
  while (pack && writer.maintain(kNow + 2 * kDay)) {
  }
}

PointsOf points_of(const std::string &path, std::string *damage = nullptr) {
  struct Collect final : PointVisitor {
    std::vector<Series> series;
    PointsOf all;
    void points(size_t index, const Points &points) override {
      std::string process;
      for (const auto &[key, value] : series[index].tags)
        if (key == "process") process = value;
      for (size_t i = 0; i < points.times_ns.size(); ++i)
        all[{series[index].metric, process, points.times_ns[i]}] = points.values[i];
    }
  } collect;
  SqliteStore store(path);
  collect.series = store.series({}, SIZE_MAX);
  store.scan(collect.series, {}, collect);
  if (damage != nullptr) *damage = store.take_damage();
  return collect.all;
}

std::vector<std::string> damage_in(const std::string &path) {
  Database database(path, Access::read_only);
  std::vector<std::string> parts;
  verify(database, [&](const std::string &part, const std::string &) { parts.push_back(part); });
  return parts;
}

TEST_CASE("a store without damage is verified row by row") {
  TestStore store;
  fill(store, 1300, true);
  REQUIRE(store.number("SELECT count(*) FROM chunks") > 0);
  Database database(store.path, Access::read_only);
  const RowCounts rows = verify(database, [](const std::string &part, const std::string &why) { FAIL(part << ": " << why); });
  CHECK(rows.damaged == 0);
  CHECK(rows.good > 2600);  // 1,300 stacks and as many spans
}

TEST_CASE("damaged rows of every table are left out of answers, listed, and left out of the repaired store") {
  TestStore store;
  fill(store, 1300, true);
  fill(store, 100, false);  // again: rows, which win over the chunks
  const PointsOf whole = points_of(store.path);
  const int64_t window = store.number("SELECT min(window) FROM samples");
  const int64_t chunk = store.number("SELECT min(id) FROM chunks");
  {
    Database database(store.path, Access::read_write);
    database.execute(("UPDATE chunks SET data = zeroblob(length(data)) WHERE id = " + std::to_string(chunk)).c_str());
    database.execute(("UPDATE samples SET fields = '[[1,[2],[x' WHERE window = " + std::to_string(window)).c_str());
    database.execute("UPDATE stacks SET numbers = '{\"1\":' WHERE window = (SELECT min(window) FROM stacks)");
    database.execute("UPDATE spans SET fields = '[]' WHERE start_ns = (SELECT min(start_ns) FROM spans)");
  }
  std::string damage;
  const PointsOf readable = points_of(store.path, &damage);
  CHECK(readable.size() < whole.size());
  CHECK(damage == "database " + store.path + ": 2 damaged parts were left out of the answer (the first: chunks " +
                      std::to_string(chunk) + "); `atalaya store verify` lists them, `atalaya store repair` saves the rest");
  size_t spans = 0;
  SqliteStore reader(store.path);
  reader.spans({}, [&](const Span &) { ++spans; });
  CHECK(spans == 1299);
  CHECK(reader.take_damage().find("1 damaged part was left out of the answer (the first: spans ") != std::string::npos);
  CHECK(reader.take_damage() == "");
  reader.stacks({}, [](const Stack &) {});
  CHECK(reader.take_damage().find("(the first: stacks ") != std::string::npos);
  CHECK(damage_in(store.path).size() == 4);

  REQUIRE(::chmod(store.path.c_str(), 0600) == 0);
  const Repaired repaired = repair(store.path);
  CHECK(repaired.rows.damaged == 4);
  CHECK(damage_in(store.path).empty());
  CHECK(points_of(store.path) == readable);
  CHECK(damage_in(repaired.kept).size() == 4);
  struct stat status {};
  REQUIRE(::stat(store.path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  fill(store, 1, false);  // the agent goes on
}

TEST_CASE("ids of lost names are not used again") {
  TestStore store;
  fill(store, 10, false);
  Database(store.path, Access::read_write).execute("DELETE FROM metrics");
  const int64_t before = store.number("SELECT seq FROM sqlite_sequence WHERE name = 'metrics'");
  repair(store.path);
  fill(store, 10, false);
  CHECK(store.number("SELECT min(id) FROM metrics") > before);
}

TEST_CASE("a store of an older schema is repaired to the present one, with the same points and ids") {
  TestStore store;
  fill(store, 1300, true);
  Database(store.path, Access::read_write).execute("DELETE FROM entity_rows WHERE id = (SELECT max(id) FROM entity_rows)");
  const PointsOf whole = points_of(store.path);
  const auto entities = store.sql("SELECT * FROM entities ORDER BY id");
  const int64_t last = store.number("SELECT seq FROM sqlite_sequence WHERE name = 'entity_rows'");
  REQUIRE(!entities.empty());
  make_schema_9(store.path);
  CHECK(damage_in(store.path).empty());
  CHECK(repair(store.path).rows.damaged == 0);
  CHECK(damage_in(store.path).empty());
  CHECK(points_of(store.path) == whole);
  CHECK(store.sql("SELECT * FROM entities ORDER BY id") == entities);
  CHECK(store.number("SELECT seq FROM sqlite_sequence WHERE name = 'entity_rows'") == last);
}

TEST_CASE("a store that is being written is not repaired") {
  TestStore store;
  fill(store, 10, false);
  Writer writer = store.writer();
  CHECK_THROWS_WITH_AS(repair(store.path), doctest::Contains("is being written by"), Error);
}

// Garbage over some pages of the file. Whatever is lost, no value is wrong, and nothing outside these pages is lost.
TEST_CASE("random damage of the file costs no more than the pages it hits") {
  TestStore store;
  fill(store, 1300, true);
  REQUIRE(store.number("SELECT count(*) FROM chunks") > 0);
  const PointsOf whole = points_of(store.path);
  std::ifstream file(store.path, std::ios::binary);
  const std::string good(std::istreambuf_iterator<char>(file), {});
  const int64_t page_size = store.number("PRAGMA page_size");
  const auto pages = static_cast<int64_t>(good.size()) / page_size;
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  size_t kept = 0, tries = 0;
  int64_t damaged = 0;
  for (; tries < 25; ++tries) {
    const TestStore other;
    std::string bad = good;
    // Not the first pages: they hold the schema and, in a small store, the root of each table.
    const int64_t page = std::uniform_int_distribution<int64_t>(pages / 2, pages - 1)(random);
    for (int64_t i = 0; i < page_size; ++i) bad[static_cast<size_t>(page * page_size + i)] = static_cast<char>(random());
    std::ofstream(other.path, std::ios::binary) << bad;
    damaged += repair(other.path).rows.damaged;
    CHECK(damage_in(other.path).empty());
    const PointsOf rest = points_of(other.path);
    kept += rest.size();
    for (const auto &[key, value] : rest) {
      const auto found = whole.find(key);
      REQUIRE(found != whole.end());
      CHECK(found->second == value);
    }
  }
  MESSAGE("points kept: " << kept * 100 / (whole.size() * tries) << " %");
  CHECK(damaged > 0);
  CHECK(kept > whole.size() * tries * 8 / 10);
}

}  // namespace
}  // namespace atalaya::store::test
