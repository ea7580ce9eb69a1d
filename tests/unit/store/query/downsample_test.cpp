// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/windows/downsample.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>

#include "tests/unit/store/query/memory_store.h"

namespace atalaya::query::test {
namespace {

std::string down(const char *text, Edge edge, const Values &values, int to = 60) {
  const Downsample downsample = parse_downsample(text).value();
  const Intervals intervals(downsample, {kT0, kT0 + to * kSecond}, edge);
  Downsampler downsampler(intervals, *downsample.function);
  for (const auto &[second, value] : values) downsampler.add(kT0 + second * kSecond, value);
  return shown(filled(downsampler.take(), intervals, downsample.fill));
}

const Values kMinute = {{5, 5}, {10, 7}, {20, 10}, {30, 15}, {35, 1}, {60, 20}};

TEST_CASE("windows belong to the interval that ends with or after them, and it is named by its end") {
  CHECK(down("30s-sum", Edge::end, kMinute) == "30:37 60:21");
  CHECK(down("10s-avg", Edge::end, kMinute) == "10:6 20:10 30:15 40:1 60:20");
}

TEST_CASE("OpenTSDB's intervals hold their begin and are named by it") {
  CHECK(down("30s-sum", Edge::start, kMinute) == "0:22 30:16 60:20");
}

TEST_CASE("every function sees the points of its interval alone") {
  CHECK(down("30s-min", Edge::end, kMinute) == "30:5 60:1");
  CHECK(down("30s-max", Edge::end, kMinute) == "30:15 60:20");
  CHECK(down("30s-count", Edge::end, kMinute) == "30:4 60:2");
  CHECK(down("30s-first", Edge::end, kMinute) == "30:5 60:1");
  CHECK(down("30s-last", Edge::end, kMinute) == "30:15 60:20");
  CHECK(down("30s-median", Edge::end, kMinute) == "30:8.5 60:10.5");
  CHECK(down("30s-dev", Edge::end, {{5, 2}, {10, 4}, {40, 5}}) == "30:1 60:0");
}

TEST_CASE("the whole range is one interval") {
  CHECK(down("0all-sum", Edge::end, kMinute) == "60:58");
}

TEST_CASE("a fill policy puts a point into every interval of the range") {
  CHECK(down("20s-sum-none", Edge::end, {{5, 5}, {60, 1}}) == "20:5 60:1");
  CHECK(down("20s-sum-zero", Edge::end, {{5, 5}, {60, 1}}) == "20:5 40:0 60:1");
  CHECK(down("20s-sum-nan", Edge::end, {{5, 5}, {60, 1}}) == "20:5 40:nan 60:1");
  CHECK(down("20s-sum-null", Edge::start, {{25, 5}}, 59) == "0:nan 20:5 40:nan");
}

TEST_CASE("intervals are aligned to the epoch, before it too") {
  const Intervals end({60 * kSecond, std::nullopt, Fill::none}, {}, Edge::end);
  CHECK(end.name_of(1) == 60 * kSecond);
  CHECK(end.name_of(60 * kSecond) == 60 * kSecond);
  CHECK(end.name_of(0) == 0);
  CHECK(end.name_of(-1) == 0);
  CHECK(end.name_of(-60 * kSecond) == -60 * kSecond);
  const Intervals start({60 * kSecond, std::nullopt, Fill::none}, {}, Edge::start);
  CHECK(start.name_of(59 * kSecond) == 0);
  CHECK(start.name_of(-1) == -60 * kSecond);
}

TEST_CASE("random points fall into the same intervals as with a table, by points and by summaries") {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    const int64_t length = (1 + static_cast<int64_t>(random() % 20)) * kSecond;
    const Edge edge = round % 2 == 0 ? Edge::end : Edge::start;
    const Intervals intervals({length, std::nullopt, Fill::none}, {kT0, kT0 + 1000 * kSecond}, edge);
    for (const char *name : {"sum", "avg", "min", "max", "count", "first", "last", "p90"}) {
      const Aggregator function = *Aggregator::find(name);
      Downsampler downsampler(intervals, function), by_summaries(intervals, function);
      std::map<int64_t, std::vector<double>> table;
      int64_t time = kT0;
      for (int i = 0; i < 50; ++i) {
        time += 1 + static_cast<int64_t>(random()) % (3 * kSecond);
        const double value = static_cast<double>(random() % 100);
        downsampler.add(time, value);
        if (!by_summaries.add(store::Summary{1, time, time, value, value, value, value, value})) by_summaries.add(time, value);
        const int64_t index = edge == Edge::end ? (time + length - 1) / length : time / length;
        table[index * length].push_back(value);
      }
      const auto points = downsampler.take();
      CHECK(shown(points) == shown(by_summaries.take()));
      REQUIRE(points.size() == table.size());
      auto expected = table.begin();
      for (const Point &point : points) {
        CHECK(point.time_ns == expected->first);
        CHECK(point.value == doctest::Approx(function.apply(expected->second)));
        ++expected;
      }
    }
  }
}

TEST_CASE("a summary that reaches over an interval's end is refused") {
  const Intervals intervals({10 * kSecond, std::nullopt, Fill::none}, {}, Edge::end);
  const Aggregator sum = *Aggregator::find("sum");
  Downsampler downsampler(intervals, sum);
  CHECK_FALSE(downsampler.add(store::Summary{2, kT0 + 5 * kSecond, kT0 + 15 * kSecond, 3, 1, 2, 1, 2}));
  CHECK(downsampler.add(store::Summary{2, kT0 + 5 * kSecond, kT0 + 10 * kSecond, 3, 1, 2, 1, 2}));
  CHECK(shown(downsampler.take()) == "10:3");
}

TEST_CASE("an invalid downsampling is refused with the reason") {
  CHECK(parse_downsample("5s").value().interval_ns == 5 * kSecond);
  CHECK_FALSE(parse_downsample("5s").value().function);
  CHECK(parse_downsample("5").error() == "\"5\": \"5\" has no unit; write \"5s\" (units: ns us ms s m h d w y)");
  CHECK(parse_downsample("0s-avg").error() == "\"0s-avg\": an interval is longer than 0s; the whole range is 0all");
  CHECK(parse_downsample("5s-agv").error() == "\"5s-agv\": \"agv\" is no function; did you mean \"avg\"?");
  CHECK(parse_downsample("5s-avg-none-x").error().find("an interval, a function and a fill policy") != std::string::npos);
  CHECK(parse_downsample("5s-avg-zeros").error().find("write none, nan, null or zero") != std::string::npos);
}

TEST_CASE("an interval is at most ten years long") {
  CHECK(parse_downsample("1w-avg").value().interval_ns == 7 * kDay);
  CHECK(parse_downsample("10y-avg").ok());
  CHECK(parse_downsample("11y-avg").error().find("an interval is at most 3660d; the whole range is 0all") != std::string::npos);
}

}  // namespace
}  // namespace atalaya::query::test
