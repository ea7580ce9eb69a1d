// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/arithmetic/aggregator.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace atalaya::query {
namespace {

using Function = Aggregator::Function;
using Missing = Aggregator::Missing;

const std::vector<Aggregator> &known() {
  static const std::vector<Aggregator> all = {
      {"avg", Function::avg, Missing::interpolate, 0},
      {"count", Function::count, Missing::zero, 0},
      {"dev", Function::dev, Missing::interpolate, 0},
      {"first", Function::first, Missing::zero, 0},
      {"last", Function::last, Missing::zero, 0},
      {"max", Function::max, Missing::interpolate, 0},
      {"median", Function::percentile, Missing::interpolate, 50},
      {"mimmax", Function::max, Missing::nothing, 0},
      {"mimmin", Function::min, Missing::nothing, 0},
      {"min", Function::min, Missing::interpolate, 0},
      {"sum", Function::sum, Missing::interpolate, 0},
      Aggregator::zimsum(),
  };
  return all;
}

std::optional<double> percentile_of(std::string_view name) {
  if (name.size() < 2 || name[0] != 'p') return std::nullopt;
  double percentile = 0;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), percentile, std::chars_format::fixed);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  if (name == "p999") percentile = 99.9;
  if (!(percentile > 0) || percentile > 100) return std::nullopt;
  return percentile;
}

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double deviation_of(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double mean = sum_of(values) / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// At the rank p (n + 1) / 100 among the sorted values, counted from 1; between two of them on the line.
double percentile_of(std::span<double> values, double percentile) {
  std::sort(values.begin(), values.end());
  const double rank = percentile * static_cast<double>(values.size() + 1) / 100;
  if (rank < 1) return values.front();
  if (rank >= static_cast<double>(values.size())) return values.back();
  const double below = std::floor(rank);
  const auto at = static_cast<size_t>(below);
  return values[at - 1] + (rank - below) * (values[at] - values[at - 1]);
}

}  // namespace

std::optional<Aggregator> Aggregator::find(std::string_view name) {
  for (const Aggregator &aggregator : known())
    if (aggregator.name == name) return aggregator;
  if (const auto percentile = percentile_of(name))
    return Aggregator{std::string(name), Function::percentile, Missing::interpolate, *percentile};
  return std::nullopt;
}

std::vector<std::string> Aggregator::names() {
  std::vector<std::string> names = {"none", "p50", "p75", "p90", "p95", "p99", "p999"};
  for (const Aggregator &aggregator : known()) names.push_back(aggregator.name);
  std::sort(names.begin(), names.end());
  return names;
}

double Aggregator::apply(std::span<double> values) const {
  switch (function) {
    case Function::sum:
      return sum_of(values);
    case Function::avg:
      return sum_of(values) / static_cast<double>(values.size());
    case Function::min:
      return *std::min_element(values.begin(), values.end());
    case Function::max:
      return *std::max_element(values.begin(), values.end());
    case Function::count:
      return static_cast<double>(values.size());
    case Function::dev:
      return deviation_of(values);
    case Function::first:
      return values.front();
    case Function::last:
      return values.back();
    case Function::percentile:
      break;
  }
  return percentile_of(values, percentile);
}

}  // namespace atalaya::query
