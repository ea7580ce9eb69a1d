// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/value/value_filter.h"

#include <algorithm>
#include <random>

#include "tests/unit/stages/fixture.h"

namespace atalaya::testing {

using value::ValueFilter;

TEST_CASE("value keeps a sample while one listed field reaches its threshold") {
  Bench<ValueFilter> bench(table({{"proc.cpu.user", number(0.5)}, {"proc.disk.writes.mb", number(0.05)}}));
  CHECK(bench.process({"pid=1 | proc.cpu.user=0.5", "pid=2 | proc.cpu.user=0.49 proc.disk.writes.mb=0.01",
                       "pid=3 | proc.cpu.user=0 proc.disk.writes.mb=0.05", "pid=4 | proc.disk.writes.mb=1i"}) ==
        Lines{"pid=1 | proc.cpu.user=0.5", "pid=3 | proc.cpu.user=0 proc.disk.writes.mb=0.05", "pid=4 | proc.disk.writes.mb=1i"});
  CHECK(bench.process({}).empty());
}

TEST_CASE("value: a sample of the family without the fields counts as below, other families pass") {
  const Lines in = {"pid=1 | proc.mem.virtual=9", "host=a | sys.load=0", "pid=2 | proc.cpu.user=nan"};
  Bench<ValueFilter> drop(table({{"proc.cpu.user", number(0.5)}}));
  CHECK(drop.process(in) == Lines{"host=a | sys.load=0"});
  Bench<ValueFilter> pass(table({{"proc.cpu.user", number(0.5)}, {"absent", text("pass")}}));
  CHECK(pass.process(in) == in);
}

TEST_CASE("value: below turns the comparison round") {
  Bench<ValueFilter> bench(table({{"disk.free", number(10)}, {"below", boolean(true)}}));
  CHECK(bench.process({"disk=a | disk.free=10", "disk=b | disk.free=11"}) == Lines{"disk=a | disk.free=10"});
}

TEST_CASE("value: with hysteresis a kept value stays until it falls well below") {
  Bench<ValueFilter> bench(table({{"proc.cpu.user", number(10)}, {"hysteresis", number(20)}}));
  const auto kept = [&](const std::string &cpu) { return !bench.process({"pid=1 host=a | proc.cpu.user=" + cpu}).empty(); };
  CHECK_FALSE(kept("9"));
  CHECK(kept("10"));
  CHECK(kept("8"));
  CHECK_FALSE(kept("7.9"));
  CHECK_FALSE(kept("9"));
  // The state is that of the entity, whatever the order of its tags.
  CHECK(kept("11"));
  CHECK(bench.process({"host=a pid=1 | proc.cpu.user=9", "host=a pid=2 | proc.cpu.user=9"}) ==
        Lines{"host=a pid=1 | proc.cpu.user=9"});
}

TEST_CASE("value: change keeps values that differ from the last value kept") {
  Bench<ValueFilter> bench(table({{"fs.used", number(5)}, {"change", boolean(true)}}));
  const auto kept = [&](const std::string &used) { return !bench.process({"disk=a | fs.used=" + used}).empty(); };
  CHECK(kept("100"));
  CHECK_FALSE(kept("104"));
  CHECK(kept("105"));
  CHECK_FALSE(kept("101"));
  CHECK(kept("100"));
  Bench<ValueFilter> any(table({{"fs.used", number(0)}, {"change", boolean(true)}}));
  CHECK(any.process({"disk=a | fs.used=1", "disk=a | fs.used=1", "disk=a | fs.used=2"}) ==
        Lines{"disk=a | fs.used=1", "disk=a | fs.used=2"});
}

TEST_CASE("value refuses what cannot work") {
  CHECK(Bench<ValueFilter>(table({})).refused.find("no metric is listed; write one with its threshold") != std::string::npos);
  CHECK(Bench<ValueFilter>(table({{"a.b", number(1)}, {"change", boolean(true)}, {"below", boolean(true)}}))
            .refused.find("goes with neither \"below\" nor \"hysteresis\"") != std::string::npos);
  CHECK(Bench<ValueFilter>(table({{"a.b", number(-1)}, {"change", boolean(true)}})).refused.find("0 or more") != std::string::npos);
}

TEST_CASE("value keeps exactly the values that a naive filter keeps") {
  std::mt19937 random(3);
  Bench<ValueFilter> bench(table({{"p.a", number(3)}, {"p.b", number(-1)}}));
  for (int round = 0; round < 200; ++round) {
    Lines in, expected;
    for (unsigned i = 0; i < random() % 40; ++i) {
      const bool has_a = random() % 4 != 0, has_b = random() % 4 != 0, other = random() % 3 == 0;
      const int a = static_cast<int>(random() % 7), b = static_cast<int>(random() % 5) - 3;
      std::string line = "pid=" + std::to_string(i) + " |";
      if (other) line += " q.c=1";
      if (has_a) line += " p.a=" + std::to_string(a);
      if (has_b) line += " p.b=" + std::to_string(b) + "i";
      in.push_back(line);
      const bool family = has_a || has_b;
      if (!family || (has_a && a >= 3) || (has_b && b >= -1)) expected.push_back(line);
    }
    REQUIRE(bench.process(in, round) == expected);
  }
}

}  // namespace atalaya::testing
