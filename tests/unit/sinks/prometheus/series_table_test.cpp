// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/prometheus/series_table.h"

#include "tests/unit/count_allocations.h"
#include "tests/unit/sinks/prometheus/fixture.h"

namespace atalaya::prometheus::testing {
namespace {

uint64_t count(const SeriesTable::Refused &refused, Refusal refusal) {
  return refused[static_cast<size_t>(refusal)];
}

}  // namespace

TEST_CASE("prometheus: stacks and spans have no form") {
  Bench bench;
  bench.maker.add(ATALAYA_STACK, {}, "a;b");
  bench.maker.add(ATALAYA_SPAN, {}, "job");
  bench.metric({}, "proc.x", 1);
  const auto refused = bench.write();
  CHECK(count(refused, Refusal::kind) == 2);
  CHECK(count(refused, Refusal::none) == 1);
}

TEST_CASE("prometheus: of two metrics with one name the first keeps it, and it is reported once") {
  Bench bench({}, atalaya::testing::Declarations().add("c.total", ATALAYA_TOTAL, "1").add("d.total", ATALAYA_TOTAL, "1"));
  bench.metric({}, "a.b", 1)
      .metric({}, "a_b", 2)
      .metric({}, "c", 3)
      .metric({}, "c.total", 4)
      .metric({}, "d.total", 5)
      .metric({}, "d", 6);
  CHECK(count(bench.write(), Refusal::name) == 3);
  CHECK(bench.series() == Lines{"a_b 1", "c 3", "d_total 5"});
  CHECK(bool(bench.table.collisions() == ExposedNames::Collisions{{"a_b", "a.b"}, {"c.total", "c"}, {"d", "d.total"}}));
  bench.metric({}, "a_b", 2, 5);
  CHECK(count(bench.write(5), Refusal::name) == 1);
  CHECK(bench.table.collisions().empty());
}

TEST_CASE("prometheus: tags whose labels are one do not merge") {
  Bench bench;
  bench.metric({{"a.b", "1"}}, "x", 1).metric({{"a_b", "1"}}, "x", 2).metric({{"a_b", "1"}, {"a.b", "2"}}, "x", 3);
  bench.metric({{"e", ""}}, "y", 4).metric({}, "y", 5);
  const auto refused = bench.write();
  CHECK(count(refused, Refusal::tags) == 2);
  CHECK(count(refused, Refusal::labels) == 1);
  CHECK(bench.series() == Lines{"x{a_b=\"1\"} 1", "y 4"});
}

TEST_CASE("prometheus: the order of tags and fields does not matter") {
  Bench bench;
  atalaya_sample &first = bench.add({{"pid", "1"}, {"host", "a"}});
  bench.maker.field(first, "p.one", 1);
  bench.maker.field(first, "p.two", 2);
  bench.write();
  atalaya_sample &second = bench.add({{"host", "a"}, {"pid", "1"}}, 5);
  bench.maker.field(second, "p.two", 4);
  bench.maker.field(second, "p.three", 5);
  bench.maker.field(second, "p.one", 3);
  bench.write(5);
  CHECK(bench.series(5) ==
        Lines{"p_one{host=\"a\",pid=\"1\"} 3", "p_three{host=\"a\",pid=\"1\"} 5", "p_two{host=\"a\",pid=\"1\"} 4"});
  CHECK(bench.table.series() == 3);
}

TEST_CASE("prometheus: no more than max_series; room comes back when others vanish") {
  Bench bench({.max_series = 10});
  for (int pid = 0; pid < 12; ++pid) bench.metric({{"pid", std::to_string(pid)}}, "proc.x", pid);
  CHECK(count(bench.write(), Refusal::full) == 2);
  CHECK(bench.table.series() == 10);
  for (int pid = 100; pid < 105; ++pid) bench.metric({{"pid", std::to_string(pid)}}, "proc.x", pid, 5);
  bench.write(5);
  // The old window's are gone as soon as the new one begins to be known.
  for (int pid = 100; pid < 109; ++pid) bench.metric({{"pid", std::to_string(pid)}}, "proc.x", pid, 10);
  CHECK(count(bench.write(10), Refusal::full) == 0);
  CHECK(bench.series(10).size() == 9);
}

TEST_CASE("prometheus: no more than max_memory") {
  Bench bench({.max_bytes = 65536});
  const std::string long_value(1000, 'x');
  for (int pid = 0; pid < 100; ++pid) bench.metric({{"pid", std::to_string(pid)}, {"v", long_value}}, "proc.x", pid);
  CHECK(count(bench.write(), Refusal::full) > 50);
  CHECK(bench.table.bytes() <= 65536);
}

TEST_CASE("prometheus: memory comes back under churn") {
  Bench bench;
  size_t after_ten = 0;
  for (int64_t window = 0; window < 200; ++window) {
    for (int pid = 0; pid < 50; ++pid)
      bench.metric({{"host", std::to_string(window % 7)}, {"pid", std::to_string(1000 + window * 50 + pid)}}, "proc.x", 1,
                   window * 5);
    bench.write(window * 5);
    if (window == 10) after_ten = bench.table.bytes();
  }
  CHECK(bench.table.bytes() <= after_ten + after_ten / 4);
}

TEST_CASE("prometheus: series of a snapshot stay readable when they are removed meanwhile") {
  Bench bench;
  bench.metric({{"pid", "1"}}, "proc.x", 1).write();
  Snapshot snapshot;
  bench.table.snapshot(snapshot, Bench::moment(0));
  bench.metric({{"pid", "2"}}, "proc.x", 2, 5).write(5);
  bench.metric({{"pid", "2"}}, "proc.x", 2, 10).write(10);
  std::string text;
  bench.exposition.write(snapshot, Form::text, text);
  bench.table.release_snapshot();
  CHECK(text.find("proc_x{pid=\"1\"} 1\n") != std::string::npos);
}

TEST_CASE("prometheus: nothing is allocated for series that are known") {
  Bench bench;
  uint64_t total = 0;
  for (int64_t window = 0; window < 20; ++window) {
    for (int pid = 0; pid < 100; ++pid) {
      atalaya_sample &sample =
          bench.add({{"host", "a"}, {"pid", std::to_string(pid)}, {"process", "postgres: writer"}}, window * 5);
      for (const char *name : {"proc.a", "proc.b", "proc.c", "sys.d"}) bench.maker.field(sample, name, static_cast<double>(window));
    }
    const std::span<const Sample> samples{bench.maker.batch.raw().samples, bench.maker.batch.count()};
    const uint64_t before = atalaya::testing::allocations();
    bench.table.take(samples, Bench::moment(window * 5));
    if (window >= 2) total += atalaya::testing::allocations() - before;
    bench.maker.batch.clear();
  }
  CHECK(total == 0);
}

}  // namespace atalaya::prometheus::testing
