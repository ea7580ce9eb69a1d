// SPDX-License-Identifier: Apache-2.0
// The law of intervals: over all groups, value x time is the amount of the raw samples. The oracle counts seconds in a table.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <string>

#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/usage.h"
#include "plugins/shared/store/query/windows/downsample.h"
#include "tests/unit/store/query/memory_store.h"

namespace atalaya::query::test {
namespace {

constexpr int kEnd = 900;  // seconds
constexpr double kCores = 200;

using Window = MemoryStore::Window;
using Seconds = std::array<double, kEnd + 1>;  // [s]: per second, in (s - 1, s]

std::vector<Answer> ask(MemoryStore &store, const Query &query) {
  Budget budget({});
  return run_query(query, store, budget);
}

Query every(const std::string &text, const std::string &metric, std::vector<std::string> group_by = {}) {
  Query query = all_of(metric);
  query.range = {kT0, kT0 + kEnd * kSecond};
  query.downsample = parse_downsample(text).value();
  query.group_by = std::move(group_by);
  return query;
}

// Processes that share the cores: each lives for some windows and waits in some of them.
struct World {
  explicit World(unsigned seed) : random(seed) {
    std::array<double, kEnd + 1> left{};
    left.fill(kCores);
    for (int pid = 0; pid < 60; ++pid) add(pid, left);
  }
  int any(int from, int to) { return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1)); }

  void add(int pid, Seconds &left) {
    const std::string process = "p" + std::to_string(any(0, 4));
    const std::string host = "h" + std::to_string(any(0, 1));
    const int step = any(1, 20), died = std::min(kEnd, any(1, kEnd) + any(0, 1) * kEnd);
    std::vector<Window> windows;
    for (int end = any(step, kEnd); end <= died; end += step) {
      if (any(0, 9) == 0) continue;  // nothing to report
      double maximum = kCores;
      for (int s = end - step + 1; s <= end; ++s) maximum = std::min(maximum, left[static_cast<size_t>(s)]);
      const double value = maximum * any(0, 8) / 8;
      windows.push_back({end, step, value});
      for (int s = end - step + 1; s <= end; ++s) {
        left[static_cast<size_t>(s)] -= value;
        by_process[process][static_cast<size_t>(s)] += value;
      }
    }
    if (windows.empty()) return;
    const Tags tags = {{"host", host}, {"process", process}, {"pid", std::to_string(pid)}};
    store.add_windows("proc.cpu.user", tags, windows);
    for (Window &window : windows) window.value *= window.length;
    store.add_windows("flow.out.bytes", tags, windows);
  }

  double amount(const std::string &process, int from, int to) const {
    double sum = 0;
    const auto found = by_process.find(process);
    for (int s = from + 1; found != by_process.end() && s <= to; ++s) sum += found->second[static_cast<size_t>(s)];
    return sum;
  }

  std::mt19937 random;
  MemoryStore store;
  std::map<std::string, Seconds> by_process;
};

int second_of(int64_t time_ns) {
  return static_cast<int>((time_ns - kT0) / kSecond);
}

TEST_CASE("over all groups, value x time is the amount of the samples, and never more than the cores") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    World world(seed);
    world.store.block = static_cast<size_t>(world.any(1, 9));
    const int length = world.any(1, 5) == 1 ? world.any(1, 7) : world.any(1, 300), from = world.any(0, 300),
              to = world.any(500, kEnd);
    for (const char *metric : {"proc.cpu.user", "flow.out.bytes"})
      for (const char *function : {"", "-avg"})
        for (const char *aggregator : {"zimsum", "sum"}) {
          const bool is_amount = metric == std::string("flow.out.bytes");
          if (is_amount && *function != 0) continue;
          Query query = every(std::to_string(length) + "s" + function, metric, {"process"});
          query.range = {kT0 + from * kSecond, kT0 + to * kSecond};
          query.aggregator = *Aggregator::find(aggregator);
          std::map<int64_t, double> at;
          for (const Answer &answer : ask(world.store, query)) {
            double sum = 0;
            for (const Point &point : answer.points) {
              const int end = std::min(second_of(point.time_ns), to);
              const int begin = std::max(second_of(point.time_ns) - length, from);
              const double wanted = world.amount(answer.tags.at("process"), begin, end);
              // The end of the range is not more than a window after the newest sample, or that is the end.
              CHECK(point.value == doctest::Approx(is_amount ? wanted : wanted / (end - begin)).epsilon(1e-9));
              at[point.time_ns] += point.value;
              sum += is_amount ? point.value : point.value * (end - begin);
            }
            CHECK(sum == doctest::Approx(world.amount(answer.tags.at("process"), from, to)).epsilon(1e-9));
          }
          if (!is_amount)
            for (const auto &[time, value] : at) CHECK(value <= kCores * (1 + 1e-9));
        }
  }
}

TEST_CASE("the report has the same amounts as the intervals of a query") {
  World world(77);
  Budget budget({});
  const auto usages = usage_of({"proc.cpu.user"}, {}, {"process"}, {kT0, kT0 + kEnd * kSecond}, world.store, budget);
  REQUIRE_FALSE(usages.empty());
  for (const char *text : {"7s", "60s", "0all"})
    for (const Answer &answer : ask(world.store, every(text, "proc.cpu.user", {"process"}))) {
      for (const Usage &usage : usages)
        if (usage.tags == answer.tags) {
          REQUIRE(answer.integral);
          CHECK(*answer.integral / 1e9 * 0.01 == doctest::Approx(usage.sum));
        }
    }
}

TEST_CASE("short lives are not added as if each lasted for the interval") {
  MemoryStore store;  // a compiler after the other, each on one core for two seconds
  for (int pid = 0; pid < 10; ++pid)
    store.add_windows("proc.cpu.user", {{"process", "cc1plus"}, {"pid", std::to_string(pid)}}, {{2 + 2 * pid, 2, 100}});
  CHECK(shown(ask(store, every("1m", "proc.cpu.user", {"process"}))[0].points) == "60:33.3333");
  CHECK(shown(ask(store, every("5m", "proc.cpu.user"))[0].points) == "300:6.66667");
  CHECK(shown(ask(store, every("5m-max", "proc.cpu.user"))[0].points) == "300:1000");  // of the highest values of all
}

TEST_CASE("a gauge counts by the time that its windows cover") {
  MemoryStore store;
  store.add_windows("proc.mem.resident", {{"pid", "1"}}, {{10, 10, 100}, {20, 10, 100}});
  store.add_windows("proc.mem.resident", {{"pid", "2"}}, {{20, 5, 400}});
  CHECK(shown(ask(store, every("20s", "proc.mem.resident"))[0].points) == "20:200");
}

// Processes that come and go share the memory; the store begins and ends at any time within the range or outside of it.
TEST_CASE("the sum of a gauge over all groups is never above the highest sum at one time, also at the ends of the store") {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto any = [&random](int from, int to) {
      return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1));
    };
    const int first = any(0, 300), last = any(first + 60, kEnd);
    MemoryStore store;
    Seconds used{};
    double bytes = 0;
    for (int pid = 0; pid < 40; ++pid) {
      const int step = any(1, 20), born = any(first, last - step), died = any(born + step, last);
      std::vector<Window> windows;
      for (int end = born + step; end <= died; end += step) {
        windows.push_back({end, step, static_cast<double>(any(0, 4096))});
        for (int s = end - step + 1; s <= end; ++s) used.at(static_cast<size_t>(s)) += windows.back().value;
        bytes += windows.back().value * step;
      }
      store.add_windows("proc.mem.resident", {{"process", "p" + std::to_string(any(0, 5))}, {"pid", std::to_string(pid)}}, windows);
    }
    const double highest = *std::max_element(used.begin(), used.end());
    for (const std::string function : {"", "-avg"})
      for (const int length : {1, any(2, 50), 300, kEnd}) {
        std::map<int64_t, double> sums;
        double all = 0;
        for (const Answer &answer : ask(store, every(std::to_string(length) + "s" + function, "proc.mem.resident", {"process"}))) {
          for (const Point &point : answer.points) sums[point.time_ns] += point.value;
          REQUIRE(answer.integral.has_value() == function.empty());
          all += answer.integral.value_or(0) / kSecond;
        }
        for (const auto &[time, sum] : sums) CHECK(sum <= highest * (1 + 1e-9));
        if (function.empty()) CHECK(all == doctest::Approx(bytes));
      }
  }
}

// A sender may write any length.
TEST_CASE("a window of an absurd length holds in the whole range before its end") {
  MemoryStore store;
  store.duration_ns = INT64_MAX;
  store.add("proc.mem.resident", {{"pid", "1"}}, {{10, 100}});
  store.add("proc.mem.resident", {{"pid", "2"}}, {{20, 7}});
  for (const char *text : {"10s", "10s-max", "10s-avg"})
    CHECK(shown(ask(store, every(text, "proc.mem.resident"))[0].points) == "10:107 20:7");
  Query raw = all_of("proc.mem.resident");
  raw.range = {kT0, kT0 + kEnd * kSecond};
  CHECK(shown(ask(store, raw)[0].points) == "10:107 20:7");
  Budget budget({});
  const auto usage = usage_of({"proc.mem.resident"}, {}, {}, {kT0, kT0 + 20 * kSecond}, store, budget);
  CHECK(usage[0].average == doctest::Approx(57));
  CHECK(usage[0].max == 107);
}

TEST_CASE("an interval that the range cuts is the collected part in the range") {
  MemoryStore store;
  store.always_collected = false;
  store.add_windows("proc.cpu.user", {}, {{10, 5, 50}, {15, 5, 50}, {20, 5, 50}, {25, 5, 50}});
  Query query = every("10s", "proc.cpu.user");
  query.range = {kT0 + 7 * kSecond, kT0 + 28 * kSecond};
  CHECK(shown(ask(store, query)[0].points) == "10:50 20:50 30:50");
  query.range.to_ns = kT0 + 60 * kSecond;
  CHECK(shown(ask(store, query)[0].points) == "10:50 20:50 30:50");
}

TEST_CASE("instants hold since the one before; the first one as long as the second; a lone one for its interval") {
  MemoryStore store;
  store.duration_ns = 0;
  store.add("foreign.load", {{"pid", "1"}}, {{10, 1}, {20, 3}, {30, 5}});
  CHECK(shown(ask(store, every("30s", "foreign.load"))[0].points) == "30:3");
  store.add("foreign.load", {{"pid", "2"}}, {{15, 6}});  // whatever the others have
  CHECK(shown(ask(store, every("30s", "foreign.load"))[0].points) == "30:9");
  store.add("foreign.once", {}, {{15, 6}});
  CHECK(shown(ask(store, every("30s", "foreign.once"))[0].points) == "30:6");
  store.add("foreign.slow", {}, {{60, 2}, {660, 2}, {1260, 2}, {1860, 2}, {2460, 2}, {3060, 2}, {3660, 2}});
  Query slow = every("30m", "foreign.slow");
  slow.range = {kT0 + 1800 * kSecond, kT0 + 3600 * kSecond};
  CHECK(ask(store, slow)[0].points.size() == 1);
}

TEST_CASE("of instants an average by name is that of the samples, as in OpenTSDB") {
  MemoryStore store;
  store.duration_ns = 0;
  store.add("foreign.load", {{"pid", "1"}}, {{1, 1}, {20, 3}});
  store.add("foreign.load", {{"pid", "2"}}, {{20, 6}});
  CHECK(shown(ask(store, every("1m-avg", "foreign.load"))[0].points) == "60:8");
}

// A host that is collected from a moment on, again and again: the first sample of each time is an instant, then windows follow.
TEST_CASE("law: an average is neither below the least value nor above the greatest one, where collection begins with an instant") {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto any = [&](int from, int to) { return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1)); };
    MemoryStore store;
    store.always_collected = false;
    std::vector<Window> windows;
    const int step = any(1, 20);
    for (int at = any(1, 100); at < kEnd - 200; at += any(1, 60)) {
      windows.push_back({at, 0, static_cast<double>(any(500, 600))});
      at += any(0, step - 1);
      for (int i = any(1, 30); i > 0; --i) windows.push_back({at += step, step, static_cast<double>(any(500, 600))});
    }
    store.add_windows("sys.mem.total", {{"host", "h"}}, windows);
    const int last = windows.back().end;
    for (const char *text : {"2s-avg", "7s-avg", "10s-avg", "60s-avg", "300s-avg"}) {
      CAPTURE(text);
      Query query = every(text, "sys.mem.total");
      query.range = {kT0 + (windows.front().end - 1) * kSecond, kT0 + last * kSecond};
      const auto answers = ask(store, query);
      REQUIRE(answers.size() == 1);
      for (const Point &point : answers[0].points) {
        CHECK(point.value >= 500 - 1e-6);
        CHECK(point.value <= 600 + 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace atalaya::query::test
