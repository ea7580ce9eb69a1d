// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/evidence/chance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "plugins/shared/analysis/evidence/statistics.h"

namespace atalaya::evidence {
namespace {

// Twice the rank of each value among all values (so that ranks are integers); equal values have the mean of their ranks.
std::vector<size_t> doubled_ranks(const std::vector<double> &values) {
  std::vector<size_t> order(values.size()), ranks(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = begin + 1 + end;
    begin = end;
  }
  return ranks;
}

// The exact distribution of the sum of the ranks of `count` values: by sum, the share of all possible choices.
std::vector<double> distribution(const std::vector<size_t> &ranks, size_t count) {
  const size_t largest = std::accumulate(ranks.begin(), ranks.end(), size_t{0});
  size_t so_far = 0;
  std::vector<std::vector<double>> ways(count + 1, std::vector<double>(largest + 1, 0));
  ways[0][0] = 1;
  for (const size_t rank : ranks) {
    so_far += rank;
    for (size_t chosen = count; chosen > 0; --chosen)
      for (size_t sum = so_far; sum >= rank; --sum) ways[chosen][sum] += ways[chosen - 1][sum - rank];
  }
  const double all = std::accumulate(ways[count].begin(), ways[count].end(), 0.0);
  for (double &share : ways[count]) share /= all;
  return ways[count];
}

double rank_sum_chance(std::span<const double> before, std::span<const double> after) {
  std::vector<double> all(before.begin(), before.end());
  all.insert(all.end(), after.begin(), after.end());
  const std::vector<size_t> ranks = doubled_ranks(all);
  const auto own = static_cast<std::ptrdiff_t>(before.size());
  const size_t sum = std::accumulate(ranks.begin() + own, ranks.end(), size_t{0});
  const std::vector<double> shares = distribution(ranks, after.size());
  const auto at = shares.begin() + static_cast<std::ptrdiff_t>(sum);
  const double low = std::accumulate(shares.begin(), at + 1, 0.0), high = std::accumulate(at, shares.end(), 0.0);
  return std::min(1.0, 2 * std::min(low, high));
}

// The probability that the `beyond` largest of all values are in the second group by chance.
double beyond_chance(size_t before, size_t after, size_t beyond) {
  double chance = 1;
  for (size_t i = 0; i < beyond; ++i) chance *= static_cast<double>(after - i) / static_cast<double>(before + after - i);
  return chance;
}

double far_values_chance(std::span<const double> before, std::span<const double> after) {
  const auto [minimum, maximum] = std::minmax_element(before.begin(), before.end());
  const auto above = static_cast<size_t>(std::count_if(after.begin(), after.end(), [&](double value) { return value > *maximum; }));
  const auto below = static_cast<size_t>(std::count_if(after.begin(), after.end(), [&](double value) { return value < *minimum; }));
  return std::min(1.0, 2 * beyond_chance(before.size(), after.size(), std::max(above, below)));
}

}  // namespace

double one_more_chance(std::span<const double> others, double value) {
  if (others.size() < 2) return 1;
  const auto count = static_cast<double>(others.size());
  const double mean = mean_of(others), distance = std::abs(value - mean);
  double squares = 0;
  for (const double other : others) squares += (other - mean) * (other - mean);
  if (squares == 0) return distance == 0 ? 1 : 0;
  const double deviation = std::sqrt(squares / (count - 1) * (1 + 1 / count));
  return 2 * student_tail(distance / deviation, count - 1);
}

double chance_of(std::span<const double> before, std::span<const double> after) {
  if (before.empty() || after.empty()) return 1;
  return std::min(1.0, 2 * std::min(rank_sum_chance(before, after), far_values_chance(before, after)));
}

double inner_range(std::span<const double> values) {
  if (values.size() < 4) return 0;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() - 2] - sorted[1];
}

}  // namespace atalaya::evidence
