// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/unit/count_allocations.h"
#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

using testing::allocations;
using Lines = std::vector<std::string>;

TEST_CASE("the view shows points in milliseconds, with columns and a JSON object of the other tags") {
  TestStore store;
  Writer writer = store.writer();
  auto samples = store.samples();
  samples.metrics(kNow, {{"unit", "a\"b.service"}, {"pid", "42"}, {"host", "ant"}, {"process", "java"}, {"cgroup", "/x"}})
      .real("proc.cpu.user", 12.5)
      .count("proc.threads", 7);
  samples.metrics(kNow, {{"host", "ant"}, {"core", "0"}}).real("sys.cpu.user", 3);
  const Refused refused = writer.write(samples.span(), kNow);
  CHECK(refused.samples == 0);
  CHECK(refused.values == 0);
  CHECK(store.sql("SELECT time, metric, host, pid, process, tags, value FROM points ORDER BY metric") ==
        Lines{R"(1700000000000|proc.cpu.user|ant|42|java|{"cgroup":"/x","unit":"a\"b.service"}|12.5)",
              R"(1700000000000|proc.threads|ant|42|java|{"cgroup":"/x","unit":"a\"b.service"}|7)",
              R"(1700000000000|sys.cpu.user|ant|||{"core":"0"}|3.0)"});
  CHECK(store.sql("SELECT typeof(value), typeof(pid), typeof(tags -> 'core') FROM points ORDER BY metric") ==
        Lines{"real|integer|null", "integer|integer|null", "real|null|text"});
}

TEST_CASE("a query of a time range reads no sample outside of it") {
  TestStore store;
  store.writer();
  for (const auto &line : store.sql("EXPLAIN QUERY PLAN SELECT value FROM points WHERE time > 5 AND metric = 'a' AND pid = 7"))
    CHECK(line.find("SCAN s") == std::string::npos);
}

TEST_CASE("counts are whole numbers in SQL, to the limits of 64 bits") {
  TestStore store;
  Writer writer = store.writer();
  auto samples = store.samples();
  samples.metrics(kNow, {{"host", "bee"}})
      .count("least", std::numeric_limits<int64_t>::min())
      .count("most", std::numeric_limits<int64_t>::max());
  writer.write(samples.span(), kNow);
  CHECK(store.sql("SELECT value, typeof(value) FROM points ORDER BY metric") ==
        Lines{"-9223372036854775808|integer", "9223372036854775807|integer"});
}

TEST_CASE("a store continues after it was closed: no id means something else") {
  TestStore store;
  for (int run = 0; run < 3; ++run) {
    core::Symbols symbols;  // another process gives names other numbers
    symbols.intern("metric of run " + std::to_string(run));
    Samples samples(symbols);
    const std::string own = "own" + std::to_string(run);
    samples.metrics(kNow + run * kSecond, {{"host", "ant"}}).real("shared", run);
    samples.metrics(kNow + run * kSecond, {{"host", own}}).real("metric of run " + std::to_string(run), run);
    Writer({store.path, {}, false}, [&](uint32_t id) { return symbols.name(id); }).write(samples.span(), kNow);
  }
  CHECK(store.sql("SELECT host, metric, value FROM points ORDER BY time, host") ==
        Lines{"ant|shared|0.0", "own0|metric of run 0|0.0", "ant|shared|1.0", "own1|metric of run 1|1.0", "ant|shared|2.0",
              "own2|metric of run 2|2.0"});
  SqliteStore reader(store.path);
  CHECK(store.point_count() == 6);
  CHECK(reader.metrics() == Lines{"metric of run 0", "metric of run 1", "metric of run 2", "shared"});
  CHECK(store.scan("shared", "host", "ant", {kNow, kNow + kSecond}).size() == 1);
}

TEST_CASE("any byte may stand in a tag, and readers get valid UTF-8") {
  TestStore store;
  Writer writer = store.writer();
  auto samples = store.samples();
  samples.metrics(kNow, {{"process", "a\xff"}, {"pid", "007"}, {"k\n", "\"\x01\xc3\xa9\xf0"}}).real("m\xfe", 1);
  writer.write(samples.span(), kNow);
  CHECK(store.sql("SELECT process, pid, typeof(pid), metric, json_valid(tags), json_extract(tags, '$.\"k\\n\"') FROM points") ==
        Lines{"a\xef\xbf\xbd|007|text|m\xef\xbf\xbd|1|\"\x01\xc3\xa9\xef\xbf\xbd"});
}

TEST_CASE("a span is replaced when it ends") {
  TestStore store;
  Writer writer = store.writer();
  auto open = store.samples();
  open.add(ATALAYA_SPAN, kNow, -1, {{"host", "ant"}, {"job", "1"}}, "map").count("progress", 1);
  writer.write(open.span(), kNow);
  CHECK(store.sql("SELECT name, duration_ns FROM spans") == Lines{"map|-1"});
  auto ended = store.samples();
  ended.add(ATALAYA_SPAN, kNow, 90, {{"host", "ant"}, {"job", "1"}}, "map");
  writer.write(ended.span(), kNow + 90);
  CHECK(store.sql("SELECT name, duration_ns, fields, tags FROM spans JOIN entities e ON e.id = entity") ==
        Lines{R"(map|90|{}|{"job":"1"})"});
}

TEST_CASE("shared parts of stacks are stored once, their counts per window") {
  TestStore store;
  Writer writer = store.writer();
  for (int i = 0; i < 3; ++i) {
    auto samples = store.samples();
    samples.add(ATALAYA_STACK, kNow + i, kSecond, {{"process", "java"}}, "main;run_[j]").count("profile.samples", i + 1);
    samples.add(ATALAYA_STACK, kNow + i, kSecond, {{"process", "java"}}, "main;wait").count("profile.samples", 5);
    writer.write(samples.span(), kNow);
    writer.write(samples.span(), kNow);  // delivered twice
  }
  CHECK(store.sql("SELECT name FROM frames ORDER BY name") == Lines{"main", "run_[j]", "wait"});
  CHECK(store.sql("SELECT folded FROM stack_texts ORDER BY folded") == Lines{"main", "main;run_[j]", "main;wait"});
  CHECK(store.sql("SELECT folded, sum(value) FROM stack_points WHERE metric = 'profile.samples' AND process = 'java' "
                  "GROUP BY folded ORDER BY folded") == Lines{"main;run_[j]|6", "main;wait|15"});
}

TEST_CASE("a reader sees a steady picture and does not stop the writer") {
  TestStore store;
  Writer writer = store.writer();
  const auto write = [&](int64_t time_ns) {
    auto samples = store.samples();
    samples.metrics(time_ns, {{"host", "ant"}}).real("a", 1);
    writer.write(samples.span(), kNow);
  };
  write(kNow);
  Database reader(store.path, Access::read_only);
  reader.execute("BEGIN");
  CHECK(reader.number("SELECT count(*) FROM points") == 1);
  write(kNow + 1);
  CHECK(reader.number("SELECT count(*) FROM points") == 1);
  reader.execute("COMMIT");
  CHECK(reader.number("SELECT count(*) FROM points") == 2);
}

TEST_CASE("writing known samples allocates nothing per sample") {
  TestStore store;
  Writer writer = store.writer();
  const auto allocations_of = [&](int count, int64_t time_ns) {
    auto samples = store.samples();
    for (int i = 0; i < count; ++i)
      samples.metrics(time_ns, {{"host", "ant"}, {"pid", std::to_string(i)}, {"process", "a process with a long name"}})
          .real("a", i)
          .count("b", i);
    const uint64_t before = allocations();
    writer.write(samples.span(), kNow);
    return allocations() - before;
  };
  allocations_of(500, kNow);
  const uint64_t many = allocations_of(500, kNow + kSecond);
  const uint64_t few = allocations_of(5, kNow + 2 * kSecond);
  CHECK(many == few);
}

}  // namespace
}  // namespace atalaya::store::test
