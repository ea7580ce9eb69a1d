// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/mining/change_points.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/unit/analysis/phases/traces.h"

namespace atalaya::phases {
namespace {

// The best segmentation by trying all of them, for one series with a noise of about 1.
double cost_of(const std::vector<double> &values, const std::vector<size_t> &points) {
  double cost = 0;
  size_t begin = 0;
  for (size_t p = 0; p <= points.size(); ++p) {
    const size_t end = p < points.size() ? points[p] : values.size();
    double mean = 0;
    for (size_t i = begin; i < end; ++i) mean += values[i] / static_cast<double>(end - begin);
    for (size_t i = begin; i < end; ++i) cost += (values[i] - mean) * (values[i] - mean);
    begin = end;
  }
  return cost;
}

TEST_CASE("a level that changes by six times its noise changes there") {
  std::mt19937 random(2);
  std::normal_distribution<double> noise(0, 1);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> values;
    std::vector<size_t> planted;
    double level = 0;
    for (int part = 0; part < 4; ++part) {
      level += random() % 2 == 0 ? 6 : -6;
      if (part > 0) planted.push_back(values.size());
      for (size_t i = 20 + random() % 40; i > 0; --i) values.push_back(level + noise(random));
    }
    const auto found = change_points({values}, 5);
    REQUIRE(found.size() == planted.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(std::abs(static_cast<double>(found[i]) - static_cast<double>(planted[i])) <= 1);
    // One change more or less is not better by more than its penalty, one moved is not better at all.
    for (size_t i = 0; i < found.size(); ++i)
      for (const int by : {-2, -1, 1, 2}) {
        auto moved = found;
        moved[i] += static_cast<size_t>(by);
        CHECK(cost_of(values, found) <= cost_of(values, moved) + 1e-6);
      }
  }
}

TEST_CASE("noise alone, a constant and a short series have no changes") {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(50, 4);
  int found = 0;
  for (int round = 0; round < 100; ++round) {
    SeriesSet series(3);
    for (auto &one : series)
      for (int i = 0; i < 200; ++i) one.push_back(noise(random));
    found += static_cast<int>(change_points(series, 5).size());
  }
  CHECK(found <= 1);
  CHECK(change_points({std::vector<double>(300, 7)}, 5).empty());
  CHECK(change_points({std::vector<double>(300, std::nan(""))}, 5).empty());
  CHECK(change_points({{1, 2}}, 5).empty());
  CHECK(change_points({}, 5).empty());
}

TEST_CASE("the shares of functions change where phases do") {
  const Trace trace = test::trace_of({{100, {3, 1}, 4}, {200, {1, 1}, 4}}, {{0, 60}, {1, 60}}, {.foreign = 0.05}, 3);
  const auto found = change_points(function_series(trace, 4), 5);
  REQUIRE(found.size() == 1);
  CHECK(found[0] == 60);
}

}  // namespace
}  // namespace atalaya::phases
