// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/count_allocations.h"
#include "tests/unit/store/fixture.h"

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

TEST_CASE("numbers come back exactly") {
  TestStore store;
  Writer writer = store.writer();
  const std::vector<double> reals = {0.1, -0.0, 1e22, 123456.78, 1.0 / 3, 2e-308};
  auto samples = store.samples();
  for (size_t i = 0; i < reals.size(); ++i) samples.metrics(kNow + static_cast<int64_t>(i), {{"host", "ant"}}).real("x", reals[i]);
  samples.metrics(kNow, {{"host", "bee"}})
      .count("least", std::numeric_limits<int64_t>::min())
      .count("most", std::numeric_limits<int64_t>::max());
  writer.write(samples.span(), kNow);
  const auto points = store.scan("x", "host", "ant", {kNow - 1, kNow + kSecond});
  REQUIRE(points.size() == reals.size());
  for (size_t i = 0; i < reals.size(); ++i) CHECK(std::bit_cast<int64_t>(points[i].value) == std::bit_cast<int64_t>(reals[i]));
  CHECK(store.sql("SELECT value, typeof(value) FROM points WHERE host = 'bee' ORDER BY metric") ==
        Lines{"-9223372036854775808|integer", "9223372036854775807|integer"});
}

TEST_CASE("of the same series at the same time the last one wins") {
  TestStore store;
  Writer writer = store.writer();
  const auto write = [&](int64_t duration_ns, std::string_view metric, double value) {
    auto samples = store.samples();
    samples.metrics(kNow, {{"host", "ant"}}, duration_ns).real(metric, value);
    writer.write(samples.span(), kNow);
  };
  write(kSecond, "a", 1);
  write(kSecond, "b", 2);
  SUBCASE("written again") {
    write(kSecond, "a", 10);
  }
  SUBCASE("for another length of the window") {
    write(5 * kSecond, "a", 10);
    CHECK(store.scan("a", "host", "ant", {0, kNow}).front().duration_ns == 5 * kSecond);
  }
  SUBCASE("twice in one sample") {
    auto samples = store.samples();
    samples.metrics(kNow, {{"host", "ant"}}).real("a", 3).real("a", 10);
    writer.write(samples.span(), kNow);
  }
  SUBCASE("with the tags in another order, and by another writer") {
    auto first = store.samples();
    first.metrics(kNow + 1, {{"host", "ant"}, {"core", "1"}}).real("a", 3);
    writer.write(first.span(), kNow);
    auto second = store.samples();
    second.metrics(kNow + 1, {{"core", "1"}, {"host", "ant"}}).real("a", 4);
    writer.write(second.span(), kNow);
    write(kSecond, "a", 10);
    CHECK(store.sql("SELECT value FROM points WHERE tags <> '{}'") == Lines{"4.0"});
  }
  CHECK(store.sql("SELECT metric, value FROM points WHERE tags = '{}' ORDER BY metric") == Lines{"a|10.0", "b|2.0"});
}

TEST_CASE("a store goes on after it was closed: no id means something else") {
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

TEST_CASE("what is no number is left out and counted; the rest of the sample stays") {
  TestStore store;
  Writer writer = store.writer();
  auto samples = store.samples();
  samples.metrics(kNow, {{"host", "ant"}}).real("a", std::nan("")).real("b", 1);
  samples.metrics(kNow, {{"host", "bee"}}).real("a", std::numeric_limits<double>::infinity());
  samples.metrics(kNow, {{"host", "cat"}});
  samples.add(77, kNow, 0, {{"host", "dog"}}).real("a", 1);
  const Refused refused = writer.write(samples.span(), kNow);
  CHECK(refused.values == 2);
  CHECK(refused.samples == 3);
  CHECK(store.sql("SELECT host, metric, value FROM points") == Lines{"ant|b|1.0"});
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

TEST_CASE("what stacks share is kept once, their counts per window") {
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

TEST_CASE("stacks come back letter by letter: long ones, empty frames, none that is part of another one by its text only") {
  TestStore store;
  Writer writer = store.writer();
  std::string deep = "main";
  for (int i = 0; i < 2000; ++i) deep += ";f" + std::to_string(i % 7);
  const std::vector<std::string> texts = {"a", "a;", "a;b", "ab", "a;b;a;b", ";a", ";;", deep, deep + "x"};
  std::map<std::string, int64_t> wanted, got;
  std::set<int64_t> numbers;
  for (size_t round = 0; round < 2; ++round) {
    auto samples = store.samples();
    for (size_t i = 0; i < texts.size(); ++i)
      samples.add(ATALAYA_STACK, kNow, kSecond, {{"process", "java"}}, texts[i])
          .count("profile.samples", wanted[texts[i]] = static_cast<int64_t>(i));
    writer.write(samples.span(), kNow);
  }
  SqliteStore(store.path).stacks({}, [&](const Stack &stack) {
    got[std::string(stack.folded)] += stack.fields[0].count;
    numbers.insert(stack.number);
  });
  CHECK(got == wanted);
  CHECK(numbers.size() == texts.size());
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
