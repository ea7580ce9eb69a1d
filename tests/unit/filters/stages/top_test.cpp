// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/top/top_filter.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/unit/filters/stages/late_samples.h"

namespace atalaya::testing {

using top::TopFilter;

namespace {

// The sums of all fields over a batch, doubles and counts apart. The values of these tests are multiples of 1/64, so that every sum
// of doubles is exact.
struct Sums {
  std::map<uint32_t, double> doubles;
  std::map<uint32_t, int64_t> counts;
  bool operator==(const Sums &) const = default;
};

Sums sums_of(const atalaya_batch &batch) {
  Sums sums;
  for (uint64_t i = 0; i < batch.count; ++i)
    for (uint32_t f = 0; f < batch.samples[i].field_count; ++f) {
      const atalaya_field &field = batch.samples[i].fields[f];
      if (field.type == ATALAYA_I64)
        sums.counts[field.name] += field.value.i64;
      else
        sums.doubles[field.name] += field.value.f64;
    }
  return sums;
}

std::string process_line(int pid, double cpu, const std::string &rest = "") {
  return "host=a pid=" + std::to_string(pid) + " process=p" + std::to_string(pid % 3) + " | p.cpu=" + std::to_string(cpu) + rest;
}

}  // namespace

TEST_CASE("top keeps the K largest and adds up the rest") {
  Bench<TopFilter> bench(table({{"by", text("p.cpu")}, {"k", integer(2)}}));
  CHECK(
      bench.process({"host=a pid=1 process=x | p.cpu=1.5 p.n=1i", "host=a | sys.load=1", "host=a pid=2 process=y | p.cpu=9 p.n=2i",
                     "host=a pid=3 process=x | p.cpu=0.25 p.n=3i", "host=a pid=4 process=z | p.cpu=4 p.n=4i"}) ==
      Lines{"host=a | sys.load=1", "host=a pid=2 process=y | p.cpu=9 p.n=2i", "host=a pid=4 process=z | p.cpu=4 p.n=4i",
            "host=a process=other | p.cpu=1.75 p.n=4i"});
  CHECK(bench.surroundings.merged == 2);
  CHECK(bench.surroundings.created == 1);
  CHECK(bench.batch.raw().samples[3].time_ns == kWindowTime);
  CHECK(bench.batch.raw().samples[3].duration_ns == kSecond);
  CHECK(bench.process({}).empty());
}

TEST_CASE("top: no other when all fit or when it is off; samples without the field rank last") {
  Bench<TopFilter> bench(table({{"by", text("p.cpu")}, {"k", integer(2)}}));
  const Lines two = {"pid=1 | p.cpu=-1", "pid=2 | p.mem=5"};
  CHECK(bench.process(two) == two);
  Bench<TopFilter> off(table({{"by", text("p.cpu")}, {"k", integer(1)}, {"other", boolean(false)}}));
  CHECK(off.process(two) == Lines{two[0]});
  CHECK(off.surroundings.merged == 0);
}

TEST_CASE("top: one result per group, with the configured tag and summed fields") {
  Bench<TopFilter> bench(table({{"by", text("p.cpu")},
                                {"k", integer(1)},
                                {"per", list({"unit"})},
                                {"tag", text("command")},
                                {"fields", list({"*", "!p.start"})}}));
  CHECK(bench.process({"host=a unit=u pid=1 | p.cpu=1 p.start=7", "host=a unit=v pid=2 | p.cpu=5 p.start=7",
                       "host=a unit=u pid=3 | p.cpu=2 p.start=7", "host=a unit=v pid=4 | p.cpu=3 p.start=7"}) ==
        Lines{"host=a unit=v pid=2 | p.cpu=5 p.start=7", "host=a unit=u pid=3 | p.cpu=2 p.start=7",
              "host=a unit=u command=other | p.cpu=1", "host=a unit=v command=other | p.cpu=3"});
  CHECK(Bench<TopFilter>(table({{"by", text("p.cpu")}, {"per", list({"process"})}})).refused.find("\"tag\" is also in \"per\"") !=
        std::string::npos);
}

TEST_CASE("top: a newcomer must be clearly larger than one that was kept") {
  Bench<TopFilter> bench(table({{"by", text("p.cpu")}, {"k", integer(1)}, {"other", boolean(false)}}));
  const auto first = [&](const Lines &in) { return bench.process(in).at(0); };
  CHECK(first({"pid=1 | p.cpu=10", "pid=2 | p.cpu=9"}) == "pid=1 | p.cpu=10");
  CHECK(first({"pid=1 | p.cpu=10", "pid=2 | p.cpu=10.9"}) == "pid=1 | p.cpu=10");
  CHECK(bench.process({}).empty());
  CHECK(first({"pid=2 | p.cpu=11", "pid=1 | p.cpu=10"}) == "pid=1 | p.cpu=10");
  CHECK(first({"pid=1 | p.cpu=10", "pid=2 | p.cpu=11.5"}) == "pid=2 | p.cpu=11.5");
  CHECK(first({"pid=1 | p.cpu=12", "pid=2 | p.cpu=11.5"}) == "pid=2 | p.cpu=11.5");
}

TEST_CASE("top: equal values are chosen by identity, not by their place in the batch") {
  const auto chosen = [](const Lines &in) {
    Bench<TopFilter> bench(table({{"by", text("p.cpu")}, {"k", integer(2)}, {"other", boolean(false)}}));
    Lines out = bench.process(in);
    std::sort(out.begin(), out.end());
    return out;
  };
  Lines in = {"pid=1 | p.cpu=0", "pid=2 | p.cpu=0", "pid=3 | p.cpu=0", "pid=4 | p.cpu=0"};
  const Lines expected = chosen(in);
  while (std::next_permutation(in.begin(), in.end())) REQUIRE(chosen(in) == expected);
}

TEST_CASE("top: sums hold exactly and the ledger balances on random batches") {
  std::mt19937 random(5);
  Bench<TopFilter> bench(table({{"by", text("p.cpu")}, {"k", integer(7)}, {"per", list({"unit"})}}));
  for (int round = 0; round < 300; ++round) {
    bench.batch.clear();
    for (unsigned i = 0; i < random() % 60; ++i) {
      std::string line = "host=a pid=" + std::to_string(random() % 80) + " unit=" + std::to_string(random() % 3) + " |";
      if (random() % 8 != 0) line += " p.cpu=" + std::to_string(static_cast<double>(random() % 10000) / 64);
      if (random() % 2 != 0) line += " p.faults=" + std::to_string(random() % 100000) + "i";
      if (random() % 5 == 0) line += " q.x=0.5";
      bench.add(line, kWindowTime + round * kSecond);
    }
    const Sums before = sums_of(bench.batch.raw());
    const uint64_t in = bench.batch.count();
    bench.surroundings.merged = bench.surroundings.created = 0;
    bench.run(round);
    REQUIRE(sums_of(bench.batch.raw()) == before);
    REQUIRE(in + bench.surroundings.created == bench.batch.count() + bench.surroundings.merged);
  }
}

TEST_CASE("top: noise below the hysteresis changes no member, real changes do") {
  std::mt19937 random(11);
  Bench<TopFilter> bench(table({{"by", text("p.cpu")}, {"k", integer(10)}, {"other", boolean(false)}}));
  const auto keys = [](const Lines &lines) {
    std::set<std::string> result;
    for (const std::string &line : lines) result.insert(line.substr(0, line.find(" |")));
    return result;
  };
  std::set<std::string> first;
  for (int window = 0; window < 200; ++window) {
    Lines in;
    // 30 processes, all near 50: without hysteresis nearly every window would choose others.
    for (int pid = 0; pid < 30; ++pid) in.push_back(process_line(pid, 50 + static_cast<double>(random() % 400) / 100));
    const auto now = keys(bench.process(in, window));
    if (window == 0) first = now;
    REQUIRE(now == first);
  }
  Lines in;
  for (int pid = 0; pid < 30; ++pid) in.push_back(process_line(pid, pid));
  // Whoever is more than 10 % above all that were kept before is in at once.
  const auto after = keys(bench.process(in, 200));
  for (int pid = 21; pid < 30; ++pid)
    CHECK(after.count("host=a pid=" + std::to_string(pid) + " process=p" + std::to_string(pid % 3)) == 1);
}

TEST_CASE("top: sums over time are those of the samples, whatever their lengths, and a series has one sample at each time") {
  check_sums_over_time<TopFilter>(
      table({{"by", text("p.cpu")}, {"k", integer(2)}, {"per", list({"process"})}, {"tag", text("pid")}}));
}

}  // namespace atalaya::testing
