// SPDX-License-Identifier: Apache-2.0
// When series vanish, as a scraper sees it.
#include "tests/unit/sinks/prometheus/fixture.h"

namespace atalaya::prometheus::testing {

TEST_CASE("prometheus: a series that the next window leaves out is gone with it, the others stay") {
  Bench bench;
  bench.metric({{"pid", "1"}}, "proc.cpu.user", 1).metric({{"pid", "2"}}, "proc.cpu.user", 2).metric({}, "sys.load", 3).write();
  CHECK(bench.series() == Lines{"proc_cpu_user{pid=\"1\"} 1", "proc_cpu_user{pid=\"2\"} 2", "sys_load 3"});
  bench.metric({{"pid", "2"}}, "proc.cpu.user", 4, 5).write(5);
  // The other source has yet to come.
  CHECK(bench.series(5) == Lines{"proc_cpu_user{pid=\"2\"} 4", "sys_load 3"});
}

TEST_CASE("prometheus: a source that is silent for three of its windows") {
  Bench bench;
  bench.metric({}, "proc.a", 1).metric({}, "slow.b", 2, 0, 60).write();
  CHECK(bench.series(15) == Lines{"proc_a 1", "slow_b 2"});
  CHECK(bench.series(16) == Lines{"slow_b 2"});
  CHECK(bench.series(180) == Lines{"slow_b 2"});
  CHECK(bench.series(181).empty());
}

TEST_CASE("prometheus: windows of one host do not affect another") {
  Bench bench;
  bench.metric({{"host", "a"}}, "proc.x", 1).metric({{"host", "b"}}, "proc.x", 2).write();
  bench.metric({{"host", "a"}}, "proc.x", 3, 5).write(5);
  CHECK(bench.series(5) == Lines{"proc_x{host=\"a\"} 3", "proc_x{host=\"b\"} 2"});
}

TEST_CASE("prometheus: short windows do not outdate long ones of the same family, long ones outdate short ones") {
  Bench bench;
  bench.metric({{"by", "minute"}}, "proc.x", 1, 0, 60).metric({{"by", "pid"}}, "proc.x", 2).write();
  bench.metric({{"by", "pid"}}, "proc.x", 3, 5).write(5);
  CHECK(bench.series(5) == Lines{"proc_x{by=\"minute\"} 1", "proc_x{by=\"pid\"} 3"});
  bench.metric({{"by", "other"}}, "proc.x", 4, 15, 10).write(15);  // a window was missed
  CHECK(bench.series(15) == Lines{"proc_x{by=\"minute\"} 1", "proc_x{by=\"other\"} 4"});
}

TEST_CASE("prometheus: points without a window last as long as their own rhythm, one alone for max_age") {
  Bench bench;
  bench.metric({}, "often", 1, 0, 0).metric({}, "once", 2, 0, 0).write();
  bench.metric({}, "often", 3, 10, 0).write(10);
  CHECK(bench.series(40) == Lines{"often 3", "once 2"});
  CHECK(bench.series(41) == Lines{"once 2"});
  CHECK(bench.series(300) == Lines{"once 2"});
  CHECK(bench.series(301).empty());
}

TEST_CASE("prometheus: gauges of the first look, which has no window, are outdated by the first window") {
  Bench bench;
  bench.metric({{"pid", "1"}}, "proc.mem", 1, 0, 0).metric({{"pid", "2"}}, "proc.mem", 1, 0, 0).write();
  bench.metric({{"pid", "2"}}, "proc.mem", 2, 5).write(5);
  CHECK(bench.series(5) == Lines{"proc_mem{pid=\"2\"} 2"});
}

TEST_CASE("prometheus: a sample older than the shown one, or than max_age, is refused") {
  Bench bench;
  bench.metric({{"pid", "1"}}, "proc.x", 1, 10).write(10);
  const auto refused = [&] { return bench.write(10)[static_cast<size_t>(Refusal::old)]; };
  bench.metric({{"pid", "1"}}, "proc.x", 2, 5);
  CHECK(refused() == 1);
  bench.metric({{"pid", "2"}}, "proc.x", 2, 5);  // its window has passed
  CHECK(refused() == 1);
  bench.metric({{"pid", "3"}}, "new.x", 2, -291);
  CHECK(refused() == 1);
  bench.metric({{"pid", "1"}}, "proc.x", 3, 10);  // the same time: the last one wins
  CHECK(refused() == 0);
  CHECK(bench.series(10) == Lines{"proc_x{pid=\"1\"} 3"});
}

TEST_CASE("prometheus: a clock that is set back does not stop the values") {
  Bench bench;
  const auto put = [&](int64_t time, double value, int64_t monotonic) {
    bench.metric({{"pid", "1"}}, "proc.x", value, time);
    bench.table.take({bench.maker.batch.raw().samples, bench.maker.batch.count()}, {monotonic * kSecond, kBegin + time * kSecond});
    bench.maker.batch.clear();
  };
  put(3600, 1, 1000);
  put(5, 2, 1005);
  CHECK(bench.series(5) == Lines{"proc_x{pid=\"1\"} 2"});
  put(10, 3, 1010);
  CHECK(bench.series(10) == Lines{"proc_x{pid=\"1\"} 3"});
}

}  // namespace atalaya::prometheus::testing
