// SPDX-License-Identifier: Apache-2.0
// Roll-ups where something is wrong: damage, a full disk, an older store, levels that cannot work.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/store/sql/points_table.h"
#include "tests/unit/store/engines/rollup_fixture.h"
#include "tests/unit/store/engines/small_disk.h"

namespace atalaya::store::test {
namespace {

TEST_CASE("a damaged chunk stays, the rest is rolled up, and the operator gets one report") {
  TestStore store;
  {
    Writer writer = store.writer({.max_joined_ns = 0});
    for (int64_t hour = 0; hour < 4; ++hour) write_hour(store, writer, "proc.threads", hour * 3600);
    settle(writer, kStart + kDay);
  }
  REQUIRE(store.number("SELECT count(*) FROM chunks") == 4);
  Database(store.path, Access::read_write).execute("UPDATE chunks SET head = x'00' WHERE id IN (1, 2)");
  int warnings = 0;
  Options options{store.path, with_rollup(), false, [&](const std::string &text) {
                    ++warnings;
                    CHECK(text.find(" of database " + store.path + " is damaged: such chunks stay") != std::string::npos);
                  }};
  Writer writer(options, store.names(), store.declared.metric_of(store.names()));
  settle(writer, kLater);
  CHECK(warnings == 1);
  CHECK(store.sql("SELECT id FROM chunks") == std::vector<std::string>{"1", "2"});
  CHECK(store.number("SELECT count(*) FROM rolled") > 0);
}

TEST_CASE("a chunk stays while a window of its time has a damaged row, and keeps no other from being rolled up") {
  TestStore store;
  Writer writer = store.writer(with_rollup());
  for (int64_t hour = 0; hour < 2; ++hour) write_hour(store, writer, "flow.sent.bytes", hour * 3600);
  Database(store.path, Access::read_write).execute("UPDATE samples SET fields = '{\"1\":{\"1\":0,' WHERE window = 100");
  settle(writer, kLater);
  CHECK(store.number("SELECT count(*) FROM chunks") == 1);
  CHECK(store.number("SELECT count(*) FROM rolled") == 1);
  CHECK(store.number("SELECT count(*) FROM samples") == 1);
}

TEST_CASE("a damaged rolled chunk is left out, and the rest can be read") {
  TestStore store;
  Writer writer = store.writer(with_rollup({{kAfter, kMinute, {}}}));
  for (int64_t hour = 0; hour < 24; ++hour) write_hour(store, writer, "flow.sent.bytes", hour * 3600);
  settle(writer, kLater);
  REQUIRE(store.number("SELECT count(*) FROM rolled") > 1);
  Database(store.path, Access::read_write).execute("UPDATE rolled SET data = zeroblob(length(data)) WHERE id = 1");
  CHECK(ask(store, "1h-sum").size() == 1);
}

TEST_CASE("levels that cannot work are refused with the fix") {
  const auto problem = [](const std::vector<RollupLevel> &levels, int64_t retain_ns = 0) {
    return problem_of(levels, retain_ns).value_or("");
  };
  CHECK(problem({{kAfter, kMinute, {}}}) == "");
  CHECK(problem({{kAfter, kMinute, {}}}, 3 * kDay) == "");
  CHECK(problem({{kAfter, kMinute, 90 * kDay}, {30 * kDay, kHour, 0}}, 7 * kDay) == "");
  CHECK(problem({{kAfter, kMinute, {}}}, 3 * kDay - 1 * kHour) ==
        "parameter \"retain\": samples are deleted after 2d23h, which may be before their roll-up; parameter \"rollup[1].after\" "
        "is 2d, "
        "and the roll-up is done within 3d: keep them until then");
  CHECK(problem({{kAfter, kMinute, {}}, {kDay, kHour, {}}}) ==
        "parameter \"rollup[2].after\": 1d is not longer than the 2d of the level before; sort the levels by age");
  CHECK(problem({{kAfter, kMinute, {}}, {3 * kDay, 90 * kSecond, {}}}) ==
        "parameter \"rollup[2].every\": 1m30s is not twice, three times, ... the 1m of the level before");
}

// In a separate process, on a file system of 16 MiB: returns the error.
std::string roll_up_on_a_full_disk(const std::string &folder) {
  core::Symbols symbols;
  const std::string path = folder + "/atalaya.db", filler = folder + "/filler";
  const auto names = [&](uint32_t id) { return symbols.name(id); };
  const testing::Declarations declared = usual_declarations();
  double written = 0;
  {
    Writer writer({path, {}, false}, names, declared.metric_of(names));
    for (int64_t window = 1; window <= 720; ++window) {
      Samples samples(symbols);
      for (int64_t i = 0; i < 20; ++i) {
        samples.metrics(kStart + window * 5 * kSecond, {{"pid", std::to_string(i)}}).count("flow.sent.bytes", window * i % 1009);
        written += static_cast<double>(window * i % 1009);
      }
      writer.write(samples.span(), kStart);
    }
    settle(writer, kStart + kDay);
  }
  const auto kept = [&] {
    double sum = 0;
    SqliteStore reader(path);
    for (const auto &series : scan(reader, {{"flow.sent.bytes"}, {}, {}}))
      for (const Point &point : series) sum += point.value;
    return sum;
  };
  Writer writer({path, with_rollup(), false}, names, declared.metric_of(names));
  {
    std::ofstream fill(filler, std::ios::binary);
    const std::string block(4096, 'x');
    while (fill.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  std::string reason;
  for (int i = 0; i < 1000 && reason.empty(); ++i) try {
      writer.maintain(kLater);
    } catch (const Error &error) {
      reason = error.cause() == Cause::full ? "full" : error.what();
    }
  if (reason != "full") return "result: " + reason;
  if (kept() != written) return "something is lost, or doubled";
  std::filesystem::remove(filler);
  settle(writer, kLater);
  if (Database(path, Access::read_only).number("SELECT count(*) FROM chunks") != 0) return "it did not go on";
  return kept() == written ? "" : "something is lost, or doubled, when there is room again";
}

TEST_CASE("on a full disk a roll-up reports it and changes nothing, and continues when there is room") {
  const Folder folder;
  check_unless_skipped(in_child([&] { return mount_small_disk(folder.path()) ? roll_up_on_a_full_disk(folder.path()) : "skip"; }),
                       "");
}

}  // namespace
}  // namespace atalaya::store::test
