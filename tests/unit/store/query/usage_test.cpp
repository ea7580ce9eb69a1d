// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/usage.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/store/query/memory_store.h"

namespace atalaya::query::test {
namespace {

std::vector<Usage> usage_between(const char *metric, int64_t from_ns, int64_t to_ns, MemoryStore &store,
                                 const std::vector<std::string> &by = {}) {
  Budget budget({});
  return usage_of({metric}, {}, by, {from_ns, to_ns}, store, budget);
}

std::vector<Usage> use(MemoryStore &store, const char *metric, int from, int to, const std::vector<std::string> &by = {}) {
  return usage_between(metric, kT0 + from * kSecond, kT0 + to * kSecond, store, by);
}

TEST_CASE("CPU per cent over time are core-seconds, memory MiB-hours, a rate an amount") {
  MemoryStore store;  // windows of a second
  store.add("proc.cpu.user", {{"process", "a"}, {"pid", "1"}}, {{1, 100}, {2, 50}, {3, 200}});
  store.add("proc.cpu.user", {{"process", "a"}, {"pid", "2"}}, {{2, 50}});
  store.add("proc.mem.resident", {{"process", "a"}}, {{1, 3600}, {2, 7200}});
  store.add("proc.disk.writes.mb", {{"process", "a"}}, {{1, 5}, {2, 7}});
  const auto cpu = use(store, "proc.cpu.user", 0, 10, {"process"});
  REQUIRE(cpu.size() == 1);
  CHECK(cpu[0].sum == doctest::Approx(4));
  CHECK(cpu[0].average == doctest::Approx(40));
  CHECK(cpu[0].max == 200);
  CHECK(cpu[0].min == 100);  // both processes at second 2
  CHECK(cpu[0].sum_unit == "core-seconds");
  CHECK(cpu[0].unit == "%");
  CHECK(use(store, "proc.mem.resident", 0, 10)[0].sum == doctest::Approx(3));
  CHECK(use(store, "proc.mem.resident", 0, 10)[0].sum_unit == "MiB-hours");
  CHECK(use(store, "proc.disk.writes.mb", 0, 10)[0].sum_unit == "MiB");
  CHECK(use(store, "proc.disk.writes.mb", 0, 10)[0].sum == doctest::Approx(12));
}

TEST_CASE("series of a usage are limited by the points that would take as much memory") {
  MemoryStore store;
  for (int i = 0; i < 50; ++i) store.add("proc.cpu.user", {{"thread", std::to_string(i)}}, {{1, 2}});
  const auto sum = [&](size_t series, size_t points, const std::vector<std::string> &group_by = {}) {
    Budget budget({series, points, 60 * kSecond});
    return usage_of({"proc.cpu.user"}, {}, group_by, {kT0, kT0 + kSecond}, store, budget).at(0).average;
  };
  CHECK(sum(50, 50) == doctest::Approx(100));
  CHECK(sum(2, 50 * 20) == doctest::Approx(100));
  CHECK_THROWS_AS(sum(2, 50 * 20 - 1), TooMuch);
  CHECK_THROWS_AS(sum(49, 50), TooMuch);
  CHECK(sum(50, 50 * 50, {"thread"}) == doctest::Approx(2));
  CHECK(sum(2, 50 * 50, {"thread"}) == doctest::Approx(2));  // groups have no limit of their own
}

TEST_CASE("more series than are in memory at a time have the same sums in parts by pid") {
  std::mt19937 random(1);
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  for (int round = 0; round < 200; ++round) {
    MemoryStore store;
    const int count = 200 + below(200);
    for (int i = 0; i < count; ++i) {
      Tags tags = {{"host", "h" + std::to_string(below(3))}, {"process", "p" + std::to_string(below(5))}};
      tags["thread"] = std::to_string(i);
      if (below(10) > 0) tags["pid"] = std::to_string(below(12) * 97);
      store.add(below(2) == 0 ? "proc.cpu.user" : "flow.out.bytes", tags, {{1 + below(3), below(9)}, {5, below(9)}});
    }
    for (const std::vector<std::string> &by :
         std::vector<std::vector<std::string>>{{}, {"process"}, {"host", "pid"}, {"pid", "process"}}) {
      const auto read = [&](size_t series) {
        std::map<std::pair<std::string, Tags>, std::vector<double>> sums;
        Budget budget({series, series * 20, 60 * kSecond});
        for (const Usage &one : usage_of({"*"}, {{"process", {"!p4"}}}, by, {kT0, kT0 + 9 * kSecond}, store, budget))
          sums[{one.metric, one.tags}] = {one.sum, one.average, one.min, one.max, static_cast<double>(one.covered.length_ns())};
        return sums;
      };
      const auto all = read(1000), in_parts = read(static_cast<size_t>(count / 2));
      REQUIRE(all.size() == in_parts.size());
      for (const auto &[key, values] : all)
        for (size_t i = 0; i < values.size(); ++i) CHECK(in_parts.at(key)[i] == doctest::Approx(values[i]));
    }
  }
}

TEST_CASE("a window counts by its part within the range") {
  MemoryStore store;
  store.add("proc.cpu.user", {}, {{1, 100}, {2, 100}, {3, 100}});
  const int64_t half = kSecond / 2;
  const auto usage = usage_between("proc.cpu.user", kT0 + half, kT0 + 2 * kSecond + half, store);
  CHECK(usage[0].sum == doctest::Approx(2));
  CHECK(usage[0].average == doctest::Approx(100));
  CHECK(usage[0].covered.length_ns() == 2 * kSecond);
  CHECK(usage_between("proc.cpu.user", kT0 - kSecond, kT0 + 9 * kSecond, store)[0].covered.length_ns() == 3 * kSecond);
  MemoryStore deltas;
  deltas.add("flow.out.bytes", {}, {{1, 1000}, {2, 1000}});
  CHECK(usage_between("flow.*", kT0 + half, kT0 + 2 * kSecond, deltas)[0].sum == doctest::Approx(1500));
}

TEST_CASE("time without samples is not covered, and time with two series counts once") {
  MemoryStore store;
  store.add("proc.cpu.user", {{"pid", "1"}}, {{1, 100}, {2, 100}, {60, 100}});
  store.add("proc.cpu.user", {{"pid", "2"}}, {{2, 100}, {3, 100}});
  const auto usage = use(store, "proc.cpu.user", 0, 100);
  REQUIRE(usage.size() == 1);
  CHECK(usage[0].covered.length_ns() == 4 * kSecond);
  CHECK(usage[0].covered.parts() == 2);
}

TEST_CASE("parts that meet are one, in any order") {
  Coverage all;
  for (const auto &[begin, end] : {std::pair(10, 20), {40, 50}, {0, 5}, {20, 30}, {5, 5}, {4, 12}, {35, 60}, {100, 90}})
    all.add(begin, end);
  CHECK(all.parts() == 2);
  CHECK(all.length_ns() == 30 + 25);
  Coverage more;
  more.add(25, 36);
  more.add(all);
  CHECK(more.parts() == 1);
  CHECK(more.length_ns() == 60);
}

TEST_CASE("totals are differenced; a reset is a gap; a part of a step counts by that part") {
  MemoryStore store;
  store.add("self.samples.in", {}, {{10, 100}, {20, 150}, {30, 20}, {40, 50}});
  const auto usage = use(store, "self.samples.in", 0, 40);
  CHECK(usage[0].sum == doctest::Approx(80));
  CHECK(usage[0].sum_unit == "1");
  CHECK(usage[0].max == 150);
  CHECK(use(store, "self.samples.in", 15, 40)[0].sum == doctest::Approx(55));
}

TEST_CASE("an unknown metric is a gauge without a unit") {
  MemoryStore store;
  store.add("foreign.bytes", {}, {{1, 5}, {2, 7}});
  const auto usage = use(store, "foreign.bytes", 0, 10);
  CHECK(usage[0].sum == doctest::Approx(12));
  CHECK(usage[0].sum_unit == "value-seconds");
  CHECK(usage[0].unit.empty());
}

TEST_CASE("the largest usage comes first") {
  MemoryStore store;
  store.add("proc.cpu.user", {{"process", "small"}}, {{1, 1}});
  store.add("proc.cpu.user", {{"process", "big"}}, {{1, 9}});
  const auto usage = use(store, "proc.cpu.user", 0, 10, {"process"});
  REQUIRE(usage.size() == 2);
  CHECK(usage[0].tags.at("process") == "big");
}

TEST_CASE("metrics stand together, each with its largest first") {
  MemoryStore store;
  for (const char *metric : {"proc.mem.resident", "proc.cpu.user"}) {
    store.add(metric, {{"process", "small"}}, {{1, 1}});
    store.add(metric, {{"process", "big"}}, {{1, 9000}});
  }
  std::string order;
  for (const Usage &usage : use(store, "proc.*", 0, 10, {"process"})) order += usage.metric + " " + usage.tags.at("process") + ", ";
  CHECK(order == "proc.cpu.user big, proc.cpu.user small, proc.mem.resident big, proc.mem.resident small, ");
}

TEST_CASE("instants of neighbouring times add up") {
  MemoryStore store;
  store.duration_ns = 0;
  store.add("proc.mem.resident", {}, {{0, 3600}, {10, 7200}, {20, 3600}, {30, 1800}});
  const double all = use(store, "proc.mem.resident", 0, 30)[0].sum;
  CHECK(all == doctest::Approx(35));  // 10 s at 7200, 3600 and 1800 MiB
  CHECK(use(store, "proc.mem.resident", 0, 15)[0].sum + use(store, "proc.mem.resident", 15, 30)[0].sum == doctest::Approx(all));
  CHECK(use(store, "proc.mem.resident", 12, 14)[0].sum == doctest::Approx(2));  // no sample is in it
}

TEST_CASE("amounts of an instant count whole, once") {
  MemoryStore store;
  store.duration_ns = 0;
  store.add("flow.out.bytes", {}, {{10, 100}, {20, 30}});
  CHECK(use(store, "flow.out.bytes", 0, 30)[0].sum == 130);
  CHECK(use(store, "flow.out.bytes", 5, 10)[0].sum == 100);
  CHECK(use(store, "flow.out.bytes", 10, 20)[0].sum == 30);
}

}  // namespace
}  // namespace atalaya::query::test
