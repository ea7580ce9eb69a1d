// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/explain/chance.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace atalaya::explain {
namespace {

// Every way to divide the values into two groups, one after the other.
double by_enumeration(const std::vector<double> &before, const std::vector<double> &after) {
  std::vector<double> all = before;
  all.insert(all.end(), after.begin(), after.end());
  const auto rank = [&](double value) {
    double sum = 0;
    for (const double other : all) sum += other < value ? 1 : other == value ? 0.5 : 0;
    return sum;
  };
  const auto rank_sum = [&](const std::vector<double> &group) {
    double sum = 0;
    for (const double value : group) sum += rank(value);
    return sum;
  };
  const auto above = [](const std::vector<double> &first, const std::vector<double> &second) {
    return std::count_if(second.begin(), second.end(), [&](double value) {
      return std::all_of(first.begin(), first.end(), [&](double other) { return value > other; });
    });
  };
  const auto below = [](const std::vector<double> &first, const std::vector<double> &second) {
    return std::count_if(second.begin(), second.end(), [&](double value) {
      return std::all_of(first.begin(), first.end(), [&](double other) { return value < other; });
    });
  };
  const double sum = rank_sum(after);
  const auto far = std::max(above(before, after), below(before, after));
  double ways = 0, low = 0, high = 0, beyond = 0;
  for (uint32_t mask = 0; mask < 1U << all.size(); ++mask) {
    if (static_cast<size_t>(std::popcount(mask)) != after.size()) continue;
    std::vector<double> first, second;
    for (size_t i = 0; i < all.size(); ++i) ((mask >> i & 1) != 0 ? second : first).push_back(all[i]);
    ++ways;
    const double own = rank_sum(second);
    if (own <= sum + 1e-9) ++low;
    if (own >= sum - 1e-9) ++high;
    if (above(first, second) >= far) ++beyond;
  }
  return std::min(1.0, 2 * std::min({1.0, 2 * std::min(low, high) / ways, 2 * beyond / ways}));
}

TEST_CASE("the chance is that of an enumeration of all divisions, without ties") {
  std::mt19937 random(7);
  std::normal_distribution<double> value(0, 1);
  for (int round = 0; round < 40; ++round) {
    std::vector<double> before, after;
    for (int i = 0; i < 6; ++i) before.push_back(value(random));
    for (int i = 0; i < 3 + round % 4; ++i) after.push_back(value(random) + round % 5);
    CHECK(chance_of(before, after) == doctest::Approx(by_enumeration(before, after)));
  }
}

TEST_CASE("equal values are no difference") {
  const std::vector<double> same(30, 5);
  CHECK(chance_of(same, same) == 1);
  CHECK(chance_of(std::vector<double>(30, 0), std::vector<double>(30, 1)) < 1e-9);
}

TEST_CASE("a third of the steps far above the baseline is enough") {
  std::vector<double> before, after;
  for (int i = 0; i < 30; ++i) before.push_back(i % 7);
  for (int i = 0; i < 30; ++i) after.push_back(i < 20 ? i % 7 : 50 + i);
  CHECK(chance_of(before, after) < 0.002);
}

TEST_CASE("under no difference, small chances are as rare as they claim to be") {
  std::mt19937 random(11);
  std::exponential_distribution<double> value(1);
  int small = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> before(12), after(12);
    for (double &one : before) one = value(random);
    for (double &one : after) one = value(random);
    small += chance_of(before, after) <= 0.05 ? 1 : 0;
  }
  CHECK(small <= kRounds * 0.05);
}

TEST_CASE("groups without values have no chance to differ") {
  CHECK(chance_of({}, {}) == 1);
  CHECK(mean_of({}) == 0);
  CHECK(inner_range({}) == 0);
  CHECK(inner_range(std::vector<double>{9, 1, 2, 4}) == 2);
}

}  // namespace
}  // namespace atalaya::explain
