// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/evidence/chance.h"
#include "plugins/shared/analysis/evidence/statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <utility>
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
    CHECK(evidence::chance_of(before, after) == doctest::Approx(by_enumeration(before, after)));
  }
}

TEST_CASE("equal values are no difference") {
  const std::vector<double> same(30, 5);
  CHECK(evidence::chance_of(same, same) == 1);
  CHECK(evidence::chance_of(std::vector<double>(30, 0), std::vector<double>(30, 1)) < 1e-9);
}

TEST_CASE("a third of the steps far above the baseline is enough") {
  std::vector<double> before, after;
  for (int i = 0; i < 30; ++i) before.push_back(i % 7);
  for (int i = 0; i < 30; ++i) after.push_back(i < 20 ? i % 7 : 50 + i);
  CHECK(evidence::chance_of(before, after) < 0.002);
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
    small += evidence::chance_of(before, after) <= 0.05 ? 1 : 0;
  }
  CHECK(small <= kRounds * 0.05);
}

TEST_CASE("the chance of one more value is that of the tables of Student's t") {
  // Two-sided 5 %, 1 % and 0.1 % for 1 to 9 degrees of freedom, and 30.
  const std::vector<std::pair<size_t, std::vector<double>>> table = {
      {1, {12.7062, 63.6567, 636.619}}, {2, {4.30265, 9.92484, 31.5991}}, {3, {3.18245, 5.84091, 12.9240}},
      {4, {2.77645, 4.60409, 8.61030}}, {5, {2.57058, 4.03214, 6.86883}}, {9, {2.26216, 3.24984, 4.78091}},
      {30, {2.04227, 2.75000, 3.64596}}};
  for (const auto &[freedom, limits] : table) {
    // Pairs around 10, whose deviation is known by construction.
    std::vector<double> others(freedom + 1, 10);
    for (size_t i = 0; i + 1 < others.size(); i += 2) {
      others[i] -= 1;
      others[i + 1] += 1;
    }
    const auto count = static_cast<double>(others.size());
    const double squares = 2 * std::floor(count / 2);
    const double deviation = std::sqrt(squares / (count - 1) * (1 + 1 / count));
    for (size_t i = 0; i < 3; ++i)
      for (const int sign : {-1, 1})
        CHECK(evidence::one_more_chance(others, 10 + sign * limits[i] * deviation) ==
              doctest::Approx(std::vector<double>{0.05, 0.01, 0.001}[i]).epsilon(1e-4));
  }
  CHECK(evidence::one_more_chance(std::vector<double>{1}, 100) == 1);
  CHECK(evidence::one_more_chance(std::vector<double>{0, 0, 0}, 1) == 0);
  CHECK(evidence::one_more_chance(std::vector<double>{5, 5, 5}, 5) == 1);
}

TEST_CASE("groups without values have no chance to differ") {
  CHECK(evidence::chance_of({}, {}) == 1);
  CHECK(evidence::mean_of({}) == 0);
  CHECK(evidence::inner_range({}) == 0);
  CHECK(evidence::inner_range(std::vector<double>{9, 1, 2, 4}) == 2);
}

}  // namespace
}  // namespace atalaya::explain
