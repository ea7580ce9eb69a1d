// SPDX-License-Identifier: Apache-2.0
// OpenTSDB's documented tables (user guide, "Aggregators") are the golden cases here.
#include "plugins/shared/store/query/merge.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "tests/unit/store/query/memory_store.h"

namespace atalaya::query::test {
namespace {

std::vector<Point> series(const Values &values) {
  std::vector<Point> points;
  for (const auto &[second, value] : values) points.push_back({kT0 + second * kSecond, value});
  return points;
}

std::vector<Point> merge_all(const std::vector<std::vector<Point>> &all, const Aggregator &aggregator, const Limits &limits = {}) {
  Budget budget(limits);
  return merged(all, aggregator, budget);
}

std::string merge(const char *aggregator, const std::vector<Values> &all) {
  std::vector<std::vector<Point>> points;
  points.reserve(all.size());
  for (const Values &values : all) points.push_back(series(values));
  return shown(merge_all(points, *Aggregator::find(aggregator)));
}

TEST_CASE("series that line up are added time by time") {
  CHECK(merge("sum", {{{0, 5}, {10, 5}, {20, 10}, {30, 15}, {40, 20}, {50, 5}},
                      {{0, 10}, {10, 5}, {20, 20}, {30, 15}, {40, 10}, {50, 0}}}) == "0:15 10:10 20:30 30:30 40:30 50:5");
}

const std::vector<Values> kOffset = {{{10, 5}, {30, 15}, {50, 5}}, {{0, 10}, {20, 20}, {40, 10}, {60, 20}}};

TEST_CASE("sum interpolates between the points of a series, not before the first nor after the last") {
  CHECK(merge("sum", kOffset) == "0:10 10:20 20:30 30:30 40:20 50:20 60:20");
}

TEST_CASE("zimsum takes a missing point for 0, mimmin and mimmax for nothing") {
  CHECK(merge("zimsum", kOffset) == "0:10 10:5 20:20 30:15 40:10 50:5 60:20");
  CHECK(merge("mimmin", kOffset) == "0:10 10:5 20:20 30:15 40:10 50:5 60:20");
  CHECK(merge("mimmax", kOffset) == "0:10 10:5 20:20 30:15 40:10 50:5 60:20");
}

TEST_CASE("count, first and last take a missing point for 0, from the first to the last point of its series") {
  CHECK(merge("count", kOffset) == "0:1 10:2 20:2 30:2 40:2 50:2 60:1");
  CHECK(merge("first", kOffset) == "0:10 10:5 20:0 30:15 40:0 50:5 60:20");
  CHECK(merge("last", kOffset) == "0:10 10:0 20:20 30:0 40:10 50:0 60:20");
}

TEST_CASE("avg, min, max and dev interpolate as sum does") {
  CHECK(merge("avg", kOffset) == "0:10 10:10 20:15 30:15 40:10 50:10 60:20");
  CHECK(merge("min", kOffset) == "0:10 10:5 20:10 30:15 40:10 50:5 60:20");
  CHECK(merge("max", kOffset) == "0:10 10:15 20:20 30:15 40:10 50:15 60:20");
  CHECK(merge("dev", kOffset) == "0:0 10:5 20:5 30:0 40:0 50:5 60:0");
}

TEST_CASE("values that a fill policy marks unknown are skipped, and remain if no series knows them") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(merge("sum", {{{0, nan}, {10, nan}, {20, nan}, {30, 15}, {40, nan}, {50, 5}, {60, nan}},
                      {{0, 10}, {10, nan}, {20, 20}, {30, nan}, {40, nan}, {50, nan}, {60, 20}}}) ==
        "0:10 10:nan 20:20 30:15 40:nan 50:5 60:20");
}

// In the simplest form: at each time look at every series.
std::vector<Point> naive(const std::vector<std::vector<Point>> &all, const Aggregator &aggregator) {
  std::set<int64_t> times;
  for (const auto &points : all)
    for (const Point &point : points) times.insert(point.time_ns);
  std::vector<Point> result;
  for (const int64_t time : times) {
    std::vector<double> values;
    for (const auto &points : all) {
      const Point *before = nullptr;
      const Point *after = nullptr;
      for (const Point &point : points) {
        if (point.time_ns <= time) before = &point;
        if (point.time_ns >= time && after == nullptr) after = &point;
      }
      if (before == nullptr || after == nullptr) continue;
      if (before == after)
        values.push_back(before->value);
      else if (aggregator.missing == Aggregator::Missing::zero)
        values.push_back(0);
      else if (aggregator.missing == Aggregator::Missing::interpolate)
        values.push_back(before->value + (after->value - before->value) * static_cast<double>(time - before->time_ns) /
                                             static_cast<double>(after->time_ns - before->time_ns));
    }
    if (!values.empty()) result.push_back({time, aggregator.apply(values)});
  }
  return result;
}

TEST_CASE("random series merge as the naive way merges them") {
  std::mt19937 random(7);
  const auto up_to = [&](unsigned limit) { return static_cast<int>(random() % limit); };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<Point>> all(static_cast<size_t>(up_to(6)));
    for (auto &points : all) {
      int64_t time = kT0 + up_to(40) * kSecond;
      for (int i = up_to(30); i > 0; --i, time += (1 + up_to(5)) * kSecond) points.push_back({time, up_to(1000) / 8.0});
    }
    for (const std::string &name : Aggregator::names()) {
      if (name == "none") continue;
      CAPTURE(name);
      const Aggregator aggregator = *Aggregator::find(name);
      const auto expected = naive(all, aggregator);
      const auto got = merge_all(all, aggregator);
      REQUIRE(got.size() == expected.size());
      for (size_t i = 0; i < got.size(); ++i) {
        REQUIRE(got[i].time_ns == expected[i].time_ns);
        REQUIRE(got[i].value == doctest::Approx(expected[i].value));
      }
    }
  }
}

TEST_CASE("the first and the last of several values are those of the first and the last series") {
  CHECK(merge("first", {{{10, 1}, {20, 2}}, {{0, 5}, {10, 6}, {20, 7}}, {{0, 8}, {10, 9}}}) == "0:5 10:1 20:2");
  CHECK(merge("last", {{{10, 1}, {20, 2}}, {{0, 5}, {10, 6}, {20, 7}}, {{0, 8}, {10, 9}}}) == "0:8 10:9 20:7");
}

TEST_CASE("merging ends with its time") {
  std::vector<std::vector<Point>> all(200);
  for (int i = 0; i < 200; ++i)
    for (int second = 0; second < 100; ++second) all[static_cast<size_t>(i)].push_back({kT0 + second * kSecond + i, 1});
  CHECK_THROWS_AS(merge_all(all, *Aggregator::find("sum"), {1000, 1'000'000, -1}), TooMuch);
}

}  // namespace
}  // namespace atalaya::query::test
