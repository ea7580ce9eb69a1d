// SPDX-License-Identifier: Apache-2.0
// The statistics of the analysis.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace atalaya::evidence {

inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// Probability of a false verdict, over all comparisons of one kind.
inline constexpr double kChance = 0.01;
inline bool is_beyond_chance(double chance, size_t comparisons) {
  return chance * static_cast<double>(comparisons) <= kChance;
}

// Returns the value at this index of the ascending order, which must be below values.size(). Reorders `values`.
template <class T>
T at_rank(std::vector<T> &values, size_t rank) {
  const auto place = values.begin() + static_cast<ptrdiff_t>(rank);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}
// 0 without values.
double mean_of(std::span<const double> values);

// For an even number of values, the mean of the middle two; NaN without values.
double median(std::vector<double> values);
// The standard deviation of a normal distribution with this median absolute deviation from `middle`.
double robust_deviation(const std::vector<double> &values, double middle);

// P(T >= t) of Student's distribution: the probability of such a value by chance.
double student_tail(double t, double degrees);

// The probability of at least this number of `all`, if each has the probability `part`.
double binomial_tail(size_t minimum, size_t all, double part);

// Prior knowledge of a standard deviation: its expected value, and the number of values with the same weight.
struct Prior {
  double deviation = 0, values = 0;
};
// For each value the probability that chance alone puts it this far below the others. Their deviation is estimated from the
// others and the prior. Each of the `maximum` lowest values is compared with the values above all of these, so that they do not
// hide each other.
std::vector<double> chances_below(const std::vector<double> &values, size_t maximum, Prior prior);

// Pearson's coefficient; NaN if one of them is constant.
double correlation(std::span<const double> a, std::span<const double> b);

// At most this number of values, evenly spaced over the whole range.
template <class T>
std::vector<T> evenly_spaced(const std::vector<T> &all, size_t maximum) {
  if (all.size() <= maximum) return all;
  std::vector<T> some;
  for (size_t i = 0; i < maximum; ++i) some.push_back(all[i * all.size() / maximum]);
  return some;
}

}  // namespace atalaya::evidence
