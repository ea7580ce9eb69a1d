// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/aggregate/aggregate.h"

#include <map>
#include <random>
#include <sstream>

#include "tests/unit/filters/stages/late_samples.h"

namespace atalaya::testing {

using aggregate::Aggregate;

TEST_CASE("aggregate makes one sample of those that agree in the tags") {
  Bench<Aggregate> bench(table({{"by", list({"process"})}}));
  CHECK(bench.process({"host=a pid=1 process=java | p.cpu=1.5 p.n=1i", "host=a core=0 | sys.cpu=3",
                       "process=bash host=a pid=2 | p.cpu=1", "host=a pid=3 process=java | p.n=2i p.cpu=2 p.m=1",
                       "host=b pid=1 process=java | p.cpu=9"}) ==
        Lines{"host=a core=0 | sys.cpu=3", "host=a process=java | p.cpu=3.5 p.n=3i p.m=1", "process=bash host=a | p.cpu=1",
              "host=b process=java | p.cpu=9"});
  CHECK(bench.surroundings.merged == 4);
  CHECK(bench.surroundings.created == 3);
  CHECK(bench.process({}).empty());
}

TEST_CASE("aggregate: a function for each metric, the most exact name wins") {
  Bench<Aggregate> bench(table({{"by", list({"process"})},
                                {"default", text("avg")},
                                {"functions", table({{"p.*", text("max")}, {"p.mem.*", text("min")}, {"p.mem.x", text("count")}})},
                                {"count", text("p.count")}}));
  CHECK(bench.process({"process=a | p.cpu=1 p.mem.r=5i p.mem.x=1 q.z=1i", "process=a | p.cpu=3 p.mem.r=4i p.mem.x=2 q.z=2i"}) ==
        Lines{"process=a | p.cpu=3 p.mem.r=4i p.mem.x=2i q.z=1.5 p.count=2i"});
}

TEST_CASE("aggregate leaves out fields that mean nothing for several entities, unless requested") {
  const Lines in = {"process=a | p.cpu=1 p.start.time=5i p.parent.pid=1i p.state=82i"};
  CHECK(Bench<Aggregate>(table({{"by", text("process")}})).process(in) == Lines{"process=a | p.cpu=1"});
  CHECK(Bench<Aggregate>(table({{"by", text("process")}, {"fields", text("*.state")}, {"default", text("max")}})).process(in) ==
        Lines{"process=a | p.state=82i"});
}

TEST_CASE("aggregate: families that are not chosen and spans pass, stacks stay apart") {
  Bench<Aggregate> bench(table({{"by", list({"process"})}, {"metric", list({"p.*", "profile.*"})}}));
  CHECK(bench.process({"process=a pid=1 | q.x=1", "span s | process=a | p.x=1", "stack f;g | process=a pid=1 | profile.samples=1i",
                       "stack f;h | process=a pid=1 | profile.samples=5i", "stack f;g | process=a pid=2 | profile.samples=2i"}) ==
        Lines{"process=a pid=1 | q.x=1", "span s | process=a | p.x=1", "stack f;g | process=a | profile.samples=3i",
              "stack f;h | process=a | profile.samples=5i"});
}

TEST_CASE("aggregate without tags is one sample a host, and the times of a batch that arrived stay apart") {
  Bench<Aggregate> bench;
  bench.add("host=a core=0 | c.x=1", kWindowTime);
  bench.add("host=a core=1 | c.x=2", kWindowTime);
  bench.add("host=a core=0 | c.x=4", kWindowTime - kSecond);
  bench.run(arrival_at());
  CHECK(bench.lines() == Lines{"host=a | c.x=3", "host=a | c.x=4"});
  CHECK(bench.batch.raw().samples[0].time_ns == kWindowTime);
  CHECK(bench.batch.raw().samples[1].time_ns == kWindowTime - kSecond);
}

TEST_CASE("aggregate: in a pipeline with windows, samples of longer and earlier ones count by their time") {
  Bench<Aggregate> bench;
  bench.add("pid=1 | c.x=8", kWindowTime, kSecond);
  bench.add("pid=2 | c.x=4", kWindowTime, 4 * kSecond);
  bench.add("pid=3 | c.x=2", kWindowTime - kSecond, 2 * kSecond);
  bench.add("pid=4 | c.x=16", 0);  // not stamped yet: of this window
  bench.run();
  CHECK(bench.lines() == Lines{"| c.x=11"});  // (8 + 16 + 4 * 4 + 2 * 2) / 4
  CHECK(bench.batch.raw().samples[0].time_ns == kWindowTime);
  CHECK(bench.batch.raw().samples[0].duration_ns == 4 * kSecond);
  Bench<Aggregate> average(table({{"default", text("avg")}}));
  average.add("pid=1 | c.x=8", kWindowTime, kSecond);
  average.add("pid=2 | c.x=4", kWindowTime, 3 * kSecond);
  average.run();
  CHECK(average.lines() == Lines{"| c.x=5"});
}

TEST_CASE("aggregate: samples that were held until the last call do not replace those of the window before") {
  Bench<Aggregate> bench(table({{"by", list({"process"})}}));
  CHECK(bench.process({"process=a pid=1 | p.cpu=1"}) == Lines{"process=a | p.cpu=1"});
  const int64_t time_ns = bench.batch.raw().samples[0].time_ns;
  bench.batch.clear();
  bench.add("process=a pid=2 | p.cpu=2", time_ns);
  bench.run(last_call_at());
  CHECK(bench.lines() == Lines{"process=a | p.cpu=2"});
  CHECK(bench.batch.raw().samples[0].time_ns > time_ns);
}

TEST_CASE("aggregate: counts stay exact, and become doubles only beyond int64") {
  Bench<Aggregate> bench;
  CHECK(bench.process({"c=1 | a.b=9007199254740993i", "c=2 | a.b=2i"}) == Lines{"| a.b=9007199254740995i"});
  CHECK(bench.process({"c=1 | a.b=9223372036854775807i", "c=2 | a.b=1i"}) == Lines{"| a.b=9223372036854775808"});
  CHECK(bench.process({"c=1 | a.b=1i", "c=2 | a.b=0.5", "c=3 | a.b=1i"}) == Lines{"| a.b=2.5"});
}

TEST_CASE("aggregate: the order of the samples does not change a sum of doubles") {
  Bench<Aggregate> bench;
  CHECK(bench.process({"c=1 | a.b=1e16", "c=2 | a.b=1", "c=3 | a.b=1", "c=4 | a.b=-1e16"}) == Lines{"| a.b=2"});
  CHECK(bench.process({"c=1 | a.b=1", "c=2 | a.b=1e16", "c=3 | a.b=-1e16", "c=4 | a.b=1"}) == Lines{"| a.b=2"});
  CHECK(bench.process({"c=1 | a.b=inf", "c=2 | a.b=1"}) == Lines{"| a.b=inf"});
}

TEST_CASE("aggregate: random batches agree with plain sums and the ledger balances") {
  std::mt19937 random(2);
  Bench<Aggregate> bench(table({{"by", list({"process", "user"})}, {"count", text("p.count")}}));
  for (int round = 0; round < 300; ++round) {
    std::map<std::string, std::map<std::string, double>> expected;
    bench.batch.clear();
    uint64_t in = 0;
    for (unsigned i = 0; i < random() % 60; ++i, ++in) {
      std::string process = "process=" + std::to_string(random() % 5);
      const std::string user = "user=" + std::to_string(random() % 2);
      const bool swapped = random() % 2 == 0;
      const double cpu = static_cast<double>(random() % 1000) / 64;
      const auto faults = static_cast<int>(random() % 1000);
      std::ostringstream line;
      line << (swapped ? user : process) << " pid=" << i << " " << (swapped ? process : user) << " | p.cpu=" << std::to_string(cpu)
           << " p.faults=" << faults << "i";
      bench.add(line.str(), kWindowTime + round * kSecond);
      const std::string key = process.append(" ").append(user);
      auto &group = expected[key];
      group["p.cpu"] += cpu;
      group["p.faults"] += faults;
      group["p.count"] += 1;
    }
    bench.surroundings.merged = bench.surroundings.created = 0;
    bench.run(round);
    REQUIRE(in + bench.surroundings.created == bench.batch.count() + bench.surroundings.merged);
    REQUIRE(bench.batch.count() == expected.size());
    for (uint64_t i = 0; i < bench.batch.count(); ++i) {
      const atalaya_sample &sample = bench.batch.raw().samples[i];
      const auto tag = [&](const char *key) {
        return key + ("=" + std::string(view(find_tag(sample, bench.symbols.intern(key))->value)));
      };
      REQUIRE(sample.tag_count == 2);
      REQUIRE(sample.field_count == 3);
      for (const auto &[name, value] : expected[tag("process").append(" ").append(tag("user"))])
        REQUIRE(as_double(*find_field(sample, bench.symbols.intern(name))) == value);
    }
  }
}

// A process that rests has one sample for many windows, which comes with a later one.
TEST_CASE("aggregate: sums over time are those of the samples, whatever their lengths, and a series has one sample at each time") {
  check_sums_over_time<Aggregate>(table({{"by", list({"process"})}}));
}

}  // namespace atalaya::testing
