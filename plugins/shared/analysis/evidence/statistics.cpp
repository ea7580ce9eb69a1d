// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/evidence/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace atalaya::evidence {
namespace {

// The continued fraction of the regularised incomplete beta function by Lentz' method; x must be below (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kExact = 1e-15;
  constexpr int kMaxSteps = 10'000;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;
  for (int i = 1; i < kMaxSteps; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    value *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    value *= d * c;
    if (std::abs(d * c - 1) < kExact) break;
  }
  return value;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double mean_of(std::span<const double> values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  if (values.empty()) return kNone;
  const size_t half = values.size() / 2;
  const double middle = at_rank(values, half);
  if (values.size() % 2 == 1) return middle;
  return (middle + *std::max_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(half))) / 2;
}

double robust_deviation(const std::vector<double> &values, double middle) {
  constexpr double kOfNormal = 1.4826;  // 1 / the normal distribution's third quartile
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return kOfNormal * median(std::move(distances));
}

double student_tail(double t, double degrees) {
  if (t < 0) return 1 - student_tail(-t, degrees);
  if (std::isinf(t)) return 0;
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
}

double binomial_tail(size_t minimum, size_t all, double part) {
  if (minimum == 0) return 1;
  if (minimum > all) return 0;
  return incomplete_beta(static_cast<double>(minimum), static_cast<double>(all - minimum + 1), part);
}

std::vector<double> chances_below(const std::vector<double> &values, size_t maximum, Prior prior) {
  std::vector<double> chances(values.size(), 1);
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> own;  // p-values: of the lowest value among all, of the second lowest among the values above it, and so on
  double count = 0, mean = 0, squares = 0;
  for (size_t i = values.size(); i-- > 0;) {
    const double value = values[order[i]], degrees = prior.values + std::max(0.0, count - 1);
    if (i < maximum && count > 0) {
      const double deviation = std::sqrt((prior.values * prior.deviation * prior.deviation + squares) / degrees);
      own.push_back(student_tail((mean - value) / (deviation * std::sqrt(1 + 1 / count)), degrees));
    }
    const double distance = value - mean;
    mean += distance / ++count;
    squares += distance * (value - mean);
  }
  std::reverse(own.begin(), own.end());
  for (size_t i = 0; i < own.size(); ++i) chances[order[i]] = *std::min_element(own.begin() + static_cast<ptrdiff_t>(i), own.end());
  return chances;
}

double correlation(std::span<const double> a, std::span<const double> b) {
  const double mean_a = mean_of(a), mean_b = mean_of(b);
  double both = 0, own_a = 0, own_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean_a) * (b[i] - mean_b);
    own_a += (a[i] - mean_a) * (a[i] - mean_a);
    own_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  const double scale = std::sqrt(own_a) * std::sqrt(own_b);
  return scale > 0 ? std::clamp(both / scale, -1.0, 1.0) : kNone;
}

}  // namespace atalaya::evidence
