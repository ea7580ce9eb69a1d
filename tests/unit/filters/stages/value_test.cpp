// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/value/value_filter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "tests/unit/filters/stages/fixture.h"

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

TEST_CASE("value: the start of the process does not make a sample one of the family proc") {
  Bench<ValueFilter> bench(table({{"proc.cpu.user", number(0.5)}}));
  const Lines jvm = {"pid=1 | jvm.heap.used=9 proc.start.time=5i"};
  CHECK(bench.process({jvm[0], "pid=1 | proc.cpu.user=0.1 proc.start.time=5i"}) == jvm);
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

TEST_CASE("value refuses invalid settings") {
  CHECK(Bench<ValueFilter>(table({})).refused.find("no metric is listed; add one with its threshold") != std::string::npos);
  CHECK(Bench<ValueFilter>(table({{"a.b", number(1)}, {"change", boolean(true)}, {"below", boolean(true)}}))
            .refused.find("cannot be combined with \"below\" or \"hysteresis\"") != std::string::npos);
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

namespace {

Bench<ValueFilter> resting_bench() {
  return Bench<ValueFilter>(table({{"p.cpu", number(1)}, {"rest", text("10s")}}));
}
void declare(Bench<ValueFilter> &bench) {
  const auto one = [&](std::string_view name, uint32_t kind, int32_t decimals) {
    bench.symbols.declare(name, {sizeof(atalaya_metric_info), kind, decimals, 0, {"1", 1}, {}, {}}, "a test");
  };
  one("p.cpu", ATALAYA_RATE, 2);
  one("p.mem", ATALAYA_GAUGE, 2);
  one("p.threads", ATALAYA_GAUGE, -1);
  one("p.exits", ATALAYA_DELTA, -1);
  one("p.sent", ATALAYA_DELTA, 2);
}

// Of each entity and field: the integral over time, of deltas the amount; and the time that samples cover.
class Integrals {
 public:
  void add(Bench<ValueFilter> &bench) {
    for (uint64_t i = 0; i < bench.batch.count(); ++i) {
      const atalaya_sample &sample = bench.batch.raw().samples[i];
      const std::string entity(core::view_of(sample.tags[0].value));
      const double seconds = static_cast<double>(sample.duration_ns) / kSecond;
      sums[entity + " time"] += seconds;
      for (uint32_t f = 0; f < sample.field_count; ++f) {
        const std::string name(bench.symbols.name(sample.fields[f].name));
        const bool is_amount = name == "p.exits" || name == "p.sent";
        sums[entity + " " + name] += as_double(sample.fields[f]) * (is_amount ? 1 : seconds);
      }
      auto &covered = until[entity];
      const int64_t from = sample.time_ns - sample.duration_ns;
      overlaps += covered > from ? 1 : 0;
      covered = sample.time_ns;
    }
  }
  std::map<std::string, double> sums;
  std::map<std::string, int64_t> until;
  int overlaps = 0;  // or an earlier time after a later one
};

}  // namespace

TEST_CASE("value: with rest, an entity below the thresholds has one sample per time") {
  auto bench = resting_bench();
  declare(bench);
  CHECK(bench.process({"pid=1 | p.cpu=0 p.mem=5 p.threads=2i"}, 0) == Lines{"pid=1 | p.cpu=0 p.mem=5 p.threads=2i"});
  for (int second = 1; second < 10; ++second)
    CHECK(bench.process({"pid=1 | p.cpu=0." + std::to_string(second % 2) + " p.mem=5 p.threads=2i p.exits=1i"}, second).empty());
  CHECK(bench.process({"pid=1 | p.cpu=0 p.mem=5 p.threads=2i p.exits=1i"}, 10) ==
        Lines{"pid=1 | p.cpu=0.05 p.mem=5 p.threads=2i p.exits=10i"});
  CHECK(bench.batch.raw().samples[0].time_ns == kWindowTime + 10 * kSecond);
  CHECK(bench.batch.raw().samples[0].duration_ns == 10 * kSecond);
  CHECK(bench.surroundings.merged == 11);
  CHECK(bench.surroundings.created == 2);
}

// Their minimum and maximum would be lost in an average.
TEST_CASE("value: with rest, a gauge that changes ends the sample") {
  auto bench = resting_bench();
  declare(bench);
  bench.process({}, 0);
  CHECK(bench.process({"pid=1 | p.cpu=0 p.mem=5.25"}, 1).empty());
  CHECK(bench.process({"pid=1 | p.cpu=0 p.mem=5.25"}, 2).empty());
  CHECK(bench.process({"pid=1 | p.cpu=0 p.mem=90"}, 3) == Lines{"pid=1 | p.cpu=0 p.mem=5.25"});
  CHECK(bench.batch.raw().samples[0].duration_ns == 2 * kSecond);
  CHECK(bench.process({"pid=1 | p.cpu=0 p.mem=5.25"}, 4) == Lines{"pid=1 | p.cpu=0 p.mem=90"});
}

TEST_CASE("value: the last window has the samples that were held") {
  auto bench = resting_bench();
  declare(bench);
  bench.process({}, 0);
  CHECK(bench.process({"pid=1 | p.cpu=0 p.mem=5", "pid=2 | p.cpu=0 p.mem=6"}, 1).empty());
  CHECK(bench.process({"pid=1 | p.cpu=0 p.mem=5", "pid=2 | p.cpu=9 p.mem=6"}, 2) ==
        Lines{"pid=2 | p.cpu=0 p.mem=6", "pid=2 | p.cpu=9 p.mem=6"});
  CHECK(bench.end(2) == Lines{"pid=1 | p.cpu=0 p.mem=5"});
  CHECK(bench.batch.raw().samples[0].time_ns == kWindowTime + 2 * kSecond);
  CHECK(bench.batch.raw().samples[0].duration_ns == 2 * kSecond);
  CHECK(bench.end(2).empty());
}

// The engine warns of a filter that passes nothing and does not count it.
TEST_CASE("value: where samples without the metrics are wanted, it counts itself which ones it drops") {
  for (const char *absent : {"pass", "drop"}) {
    Bench<ValueFilter> bench(table({{"absent", text(absent)}, {"p.lost", number(1)}}));
    CHECK(bench.process({"host=a | p.lost=0i"}).empty());
    CHECK(bench.process({"host=a | p.lost=1i"}).size() == 1);
    CHECK(bench.surroundings.dropped == (std::string_view(absent) == "pass" ? 1 : 0));
  }
}

TEST_CASE("value: a sample that a source held until the last call continues the one before") {
  auto bench = resting_bench();
  declare(bench);
  bench.process({}, 0);
  CHECK(bench.process({"pid=1 | p.cpu=0 p.mem=5"}, 1).empty());
  bench.batch.clear();
  bench.add("pid=1 | p.cpu=0 p.mem=5", kWindowTime + 3 * kSecond, 2 * kSecond);
  bench.run(last_call_at(3));
  CHECK(bench.lines() == Lines{"pid=1 | p.cpu=0 p.mem=5"});
  CHECK(bench.batch.raw().samples[0].duration_ns == 3 * kSecond);
}

TEST_CASE("value: with rest, an entity that wakes, ends or changes a count has its rest first") {
  auto bench = resting_bench();
  declare(bench);
  bench.process({}, 0);
  CHECK(bench.process({"pid=1 | p.cpu=0 p.threads=2i", "pid=2 | p.cpu=0 p.threads=1i", "pid=3 | p.cpu=0 p.threads=1i"}, 1).empty());
  CHECK(bench.process({"pid=1 | p.cpu=7 p.threads=2i", "pid=3 | p.cpu=0 p.threads=4i"}, 2) ==
        Lines{"pid=1 | p.cpu=0 p.threads=2i", "pid=3 | p.cpu=0 p.threads=1i", "pid=1 | p.cpu=7 p.threads=2i"});
  for (uint64_t i = 0; i < 2; ++i) CHECK(bench.batch.raw().samples[i].time_ns == kWindowTime + kSecond);
  CHECK(bench.process({}, 9).empty());
  CHECK(bench.process({}, 10) == Lines{"pid=2 | p.cpu=0 p.threads=1i", "pid=3 | p.cpu=0 p.threads=4i"});
  CHECK(bench.batch.raw().samples[0].time_ns == kWindowTime + kSecond);
  CHECK(bench.batch.raw().samples[1].time_ns == kWindowTime + 2 * kSecond);
}

TEST_CASE("value: with rest, an entity that does not come back is not forgotten before its sample is out") {
  Bench<ValueFilter> bench(table({{"p.cpu", number(1)}, {"rest", text("5m")}}));
  bench.process({}, 0);
  CHECK(bench.process({"pid=1 | p.cpu=0.5"}, 1).empty());
  Lines all;
  for (int second = 2; second < 200; ++second)
    for (const std::string &line : bench.process({}, second)) all.push_back(line);
  CHECK(all == Lines{"pid=1 | p.cpu=0.5"});
}

// Averages over a recording must not depend on the filter: not those of memory, which an idle process keeps.
TEST_CASE("value: with rest, the integral of each field of each entity is that of all samples") {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    auto bench = resting_bench();
    declare(bench);
    Integrals in, out;
    for (int second = 1; second <= 200; ++second) {
      Lines lines;
      for (int pid = 0; pid < 6; ++pid) {
        if (random() % 12 == 0) continue;  // it ended, or was not read
        std::string line = "pid=" + std::to_string(pid) + " | p.cpu=";
        line += random() % 8 == 0 ? std::to_string(1 + random() % 90) : "0." + std::to_string(random() % 10);
        if (random() % 10 != 0) line += " p.mem=" + std::to_string(random() % 6 / 5 * 700) + ".25";
        line += " p.threads=" + std::to_string(random() % 20 == 0 ? 3 : 2) + "i p.exits=" + std::to_string(random() % 3) + "i";
        line += " p.sent=" + std::to_string(random() % 50) + ".5";
        lines.push_back(line);
      }
      bench.batch.clear();
      for (const std::string &line : lines) bench.add(line, kWindowTime + second * kSecond);
      in.add(bench);
      bench.run(second);
      out.add(bench);
      if (second % 10 != 0) continue;
      REQUIRE(in.overlaps == 0);
      REQUIRE(out.overlaps == 0);
      REQUIRE(in.sums.size() == out.sums.size());
      for (const auto &[name, sum] : in.sums) {
        // Doubles are rounded to two decimals, once per merged sample.
        const bool is_exact = !name.ends_with("cpu") && !name.ends_with("sent");
        CHECK_MESSAGE(std::abs(out.sums[name] - sum) <= (is_exact ? 1e-6 : 0.005 * second), name);
      }
    }
    CHECK(bench.surroundings.merged > bench.surroundings.created);
  }
}

}  // namespace atalaya::testing
