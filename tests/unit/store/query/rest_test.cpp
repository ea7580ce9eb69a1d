// SPDX-License-Identifier: Apache-2.0
// The law of merged samples: whatever windows of equal values are one sample, every query has the values of each second. The oracle
// is a table of seconds.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/usage.h"
#include "plugins/shared/store/query/windows/downsample.h"
#include "tests/unit/store/query/resting_world.h"

namespace atalaya::query::test {
namespace {

double aggregate_of(const std::string &aggregator, const std::vector<double> &members) {
  if (aggregator == "mimmin") return *std::min_element(members.begin(), members.end());
  if (aggregator == "mimmax") return *std::max_element(members.begin(), members.end());
  return sum_of(members);
}

int second_of(int64_t time_ns) {
  return static_cast<int>((time_ns - kT0) / kSecond);
}

struct Case {
  std::string function, aggregator;  // "none": one answer per series
  int length = 0, from = 0, to = 0;
};

// The value of an interval and a group; nothing: no second of it is known.
std::optional<double> expected(const RestingWorld &world, const Case &one, const Tags &tags, int begin, int end) {
  std::vector<double> members;
  const int length = end - begin;
  for (const auto &[pid, seconds] : world.of.at(tags.at("process"))) {
    if (one.aggregator == "none" && tags.at("pid") != pid) continue;
    const std::vector<double> known = between(seconds, begin, end);
    // A sum of averages is that of integrals: members may be missing for a part of the interval.
    const bool is_integral = one.function.empty() || (one.function == "avg" && one.aggregator == "zimsum");
    if (!known.empty()) members.push_back(value_of(is_integral ? "" : one.function, known, length));
  }
  return members.empty() ? std::nullopt : std::optional(aggregate_of(one.aggregator, members));
}

std::vector<Answer> ask(MemoryStore &store, const Query &query) {
  Budget budget({});
  return run_query(query, store, budget);
}

Query query_of(const Case &one) {
  Query query;
  query.metrics = {kMemory};
  query.range = {kT0 + one.from * kSecond, kT0 + one.to * kSecond};
  query.group = one.aggregator != "none";
  if (query.group) query.aggregator = *Aggregator::find(one.aggregator);
  query.group_by = {"process"};
  if (one.length > 0)
    query.downsample =
        parse_downsample(std::to_string(one.length) + "s" + (one.function.empty() ? "" : "-" + one.function)).value();
  return query;
}

TEST_CASE("intervals of merged samples have the values of each second, by each function and grouping, aligned or not") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    RestingWorld world(seed);
    const int length = world.any(0, 2) == 0 ? world.any(1, 30) : world.step * world.any(1, 100);
    const int from = world.any(0, 300), to = world.any(500, kEnd);
    for (const char *function : {"", "avg", "min", "max", "first", "last"})
      for (const char *aggregator : {"none", "zimsum", "mimmin", "mimmax"}) {
        const Case one{function, aggregator, length, from, to};
        for (MemoryStore *store : {&world.each, &world.merged}) {
          INFO("seed " << seed << ", " << length << "s-" << function << " " << aggregator << " of windows of " << world.step
                       << " s in " << world.rest << " s, merged " << (store == &world.merged));
          size_t points = 0, wanted = 0;
          for (const Answer &answer : ask(*store, query_of(one)))
            for (const Point &point : answer.points) {
              const int end = second_of(point.time_ns);
              const auto value = expected(world, one, answer.tags, std::max(end - length, from), std::min(end, to));
              REQUIRE(value);
              CHECK(point.value == doctest::Approx(*value).epsilon(1e-9));
              ++points;
            }
          for (const auto &[process, pids] : world.of)
            for (const auto &[pid, seconds] : pids) {
              if (one.aggregator != "none" && pid != pids.begin()->first) continue;
              const int64_t origin = kT0 / kSecond;  // intervals are aligned to the epoch
              for (int end = static_cast<int>((origin + from) / length * length - origin) + length; end - length < to;
                   end += length)
                wanted +=
                    expected(world, one, {{"process", process}, {"pid", pid}}, std::max(end - length, from), std::min(end, to)) ? 1
                                                                                                                                : 0;
            }
          CHECK(points == wanted);
        }
      }
  }
}

TEST_CASE("points that are merged as they are have the values of all windows at their times") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    RestingWorld world(seed);
    for (const char *aggregator : {"zimsum", "sum", "mimmin", "mimmax"}) {
      const Case one{"", aggregator, 0, world.any(0, 300), world.any(500, kEnd)};
      for (MemoryStore *store : {&world.each, &world.merged})
        for (const Answer &answer : ask(*store, query_of(one)))
          for (const Point &point : answer.points) {
            INFO("seed " << seed << ", " << aggregator << " at " << second_of(point.time_ns) << ", merged "
                         << (store == &world.merged));
            REQUIRE(point.time_ns <= kT0 + one.to * kSecond);
            std::vector<double> members;
            bool is_whole = true;  // sum has a value of its own between two windows that do not meet
            for (const auto &[pid, seconds] : world.of.at(answer.tags.at("process"))) {
              const auto known = seconds.at(static_cast<size_t>(second_of(point.time_ns)));
              if (known) members.push_back(*known);
              is_whole = is_whole && (known || one.aggregator != "sum");
            }
            if (is_whole) CHECK(point.value == doctest::Approx(aggregate_of(aggregator, members)).epsilon(1e-9));
          }
    }
  }
}

TEST_CASE("a report of merged samples has the sums, averages, minimums and maximums of each second") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    RestingWorld world(seed);
    const int from = world.any(0, 300), to = world.any(500, kEnd);
    for (MemoryStore *store : {&world.each, &world.merged}) {
      INFO("seed " << seed << ", merged " << (store == &world.merged));
      Budget budget({});
      const auto usages = usage_of({kMemory}, {}, {"process"}, {kT0 + from * kSecond, kT0 + to * kSecond}, *store, budget);
      for (const Usage &usage : usages) {
        std::vector<double> levels;
        for (int s = from + 1; s <= to; ++s) {
          std::vector<double> members;
          for (const auto &[pid, seconds] : world.of.at(usage.tags.at("process")))
            for (const double value : between(seconds, s - 1, s)) members.push_back(value);
          if (!members.empty()) levels.push_back(sum_of(members));
        }
        REQUIRE_FALSE(levels.empty());
        CHECK(usage.sum == doctest::Approx(sum_of(levels) / 3600).epsilon(1e-9));
        CHECK(usage.average == doctest::Approx(sum_of(levels) / (to - from)).epsilon(1e-9));
        CHECK(usage.min == doctest::Approx(value_of("min", levels, 0)).epsilon(1e-9));
        CHECK(usage.max == doctest::Approx(value_of("max", levels, 0)).epsilon(1e-9));
        CHECK(usage.covered.length_ns() == static_cast<int64_t>(levels.size()) * kSecond);
      }
    }
  }
}

}  // namespace
}  // namespace atalaya::query::test
