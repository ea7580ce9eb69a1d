// SPDX-License-Identifier: Apache-2.0
// The few statistics that the model needs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace atalaya::bottleneck {

// Of an even number of values the mean of the middle two; NaN of none.
double median(std::vector<double> values);
// The standard deviation that a normal distribution with this median absolute deviation from `middle` has.
double robust_deviation(const std::vector<double> &values, double middle);

// P(T >= t) of Student's distribution: how often chance alone gives as much.
double student_tail(double t, double degrees);

// How often so many of `all` or more come, when each does with the probability `part`.
double binomial_tail(size_t least, size_t all, double part);

// Pearson's coefficient; NaN where one of them is constant.
double correlation(std::span<const double> a, std::span<const double> b);

// So many of them, from all of their length.
template <class T>
std::vector<T> evenly(const std::vector<T> &all, size_t most) {
  if (all.size() <= most) return all;
  std::vector<T> some;
  for (size_t i = 0; i < most; ++i) some.push_back(all[i * all.size() / most]);
  return some;
}

}  // namespace atalaya::bottleneck
