// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/mining/change_points.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plugins/shared/analysis/evidence/statistics.h"

namespace atalaya::phases {
namespace {

// Estimates the noise of a series from the differences of adjacent values: the 90 % quantile of their absolute values is 1.645
// standard deviations of a difference. A series that is noisy only in a part of the time gets the noise of that part. If 90 % of
// the differences are 0, their mean is used.
double noise_of(const std::vector<double> &values) {
  constexpr double kOften = 0.9, kQuantile = 1.645;
  std::vector<double> steps;
  double sum = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    steps.push_back(std::abs(values[i] - values[i - 1]));
    sum += steps.back();
  }
  if (steps.empty()) return 0;
  const double often = evidence::at_rank(steps, static_cast<size_t>(kOften * static_cast<double>(steps.size())));
  return std::max(often / kQuantile, sum / static_cast<double>(steps.size()) / 2) / std::sqrt(2);
}

// Cumulated sums of the values and of their squares, in units of the noise; an unknown value is replaced by the previous one.
class Sums {
 public:
  explicit Sums(const SeriesSet &series) {
    for (std::vector<double> values : series) {
      double last = 0;
      for (const double value : values)
        if (std::isfinite(value)) {
          last = value;
          break;
        }
      for (double &value : values) last = value = std::isfinite(value) ? value : last;
      const double noise = noise_of(values);
      if (noise > 0) add(values, noise);
    }
  }
  bool empty() const { return sums_.empty(); }
  size_t dimensions() const { return sums_.size(); }
  // The sum of squared distances of [begin, end) from its means.
  double cost(size_t begin, size_t end) const {
    const auto count = static_cast<double>(end - begin);
    double cost = 0;
    for (size_t d = 0; d < sums_.size(); ++d) {
      const double sum = sums_[d][end] - sums_[d][begin];
      cost += squares_[d][end] - squares_[d][begin] - sum * sum / count;
    }
    return cost;
  }

 private:
  void add(const std::vector<double> &values, double noise) {
    const double origin = values.front();  // keeps the squares small
    std::vector<double> sums{0}, squares{0};
    for (const double value : values) {
      const double scaled = (value - origin) / noise;
      sums.push_back(sums.back() + scaled);
      squares.push_back(squares.back() + scaled * scaled);
    }
    sums_.push_back(std::move(sums));
    squares_.push_back(std::move(squares));
  }

  std::vector<std::vector<double>> sums_, squares_;
};

}  // namespace

std::vector<size_t> change_points(const SeriesSet &series, size_t minimum) {
  const size_t size = series.empty() ? 0 : series.front().size();
  const Sums sums(series);
  if (sums.empty() || size < 2 * minimum) return {};
  const double penalty = 3 * static_cast<double>(sums.dimensions() + 1) * std::log(static_cast<double>(size));
  std::vector<double> best(size + 1, std::numeric_limits<double>::infinity());
  std::vector<size_t> from(size + 1, 0), candidates{0};
  best[0] = -penalty;
  for (size_t end = minimum; end <= size; ++end) {
    if (end >= 2 * minimum) candidates.push_back(end - minimum);
    for (const size_t begin : candidates) {
      const double cost = best[begin] + sums.cost(begin, end) + penalty;
      if (cost < best[end]) best[end] = cost, from[end] = begin;
    }
    std::erase_if(candidates, [&](size_t begin) { return best[begin] + sums.cost(begin, end) > best[end]; });
  }
  std::vector<size_t> points;
  for (size_t at = from[size]; at > 0; at = from[at]) points.push_back(at);
  std::reverse(points.begin(), points.end());
  return points;
}

SeriesSet function_series(const Trace &trace, size_t maximum) {
  std::vector<double> sums(trace.symbols(), 0);
  for (size_t i = 0; i < trace.size(); ++i)
    for (const Part &part : trace.parts(i)) sums[part.symbol] += part.threads;
  std::vector<uint32_t> order(sums.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return sums[a] > sums[b]; });
  order.resize(std::min(order.size(), maximum));
  SeriesSet series(order.size(), std::vector<double>(trace.size(), 0));
  for (size_t i = 0; i < trace.size(); ++i) {
    double total = 0;
    for (const Part &part : trace.parts(i)) total += part.threads;
    for (const Part &part : trace.parts(i))
      for (size_t d = 0; d < order.size(); ++d)
        if (order[d] == part.symbol) series[d][i] = part.threads / total;
  }
  return series;
}

}  // namespace atalaya::phases
