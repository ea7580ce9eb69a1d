// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/prometheus/promql_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "core/base/sample/span_end.h"

namespace atalaya::serve {
namespace {

constexpr uint64_t kAbsentBits = 0x7ff0000000000002;  // Prometheus' marker of a stale series

using Samples = std::span<const query::Point>;

// Prometheus' extrapolation: a series is assumed to continue to the edges of the range, if its samples are close to them.
std::optional<double> increase(Samples samples, int64_t step_ns, int64_t range_ns) {
  if (samples.size() < 2) return std::nullopt;
  const query::Point &first = samples.front(), &last = samples.back();
  double risen = last.value - first.value;
  for (size_t i = 1; i < samples.size(); ++i)
    if (samples[i].value < samples[i - 1].value) risen += samples[i - 1].value;  // a reset
  const auto sampled = static_cast<double>(last.time_ns - first.time_ns);
  const double between = sampled / static_cast<double>(samples.size() - 1);
  auto to_start = static_cast<double>(first.time_ns - (step_ns - range_ns));
  const auto to_end = static_cast<double>(step_ns - last.time_ns);
  // A counter does not begin below zero.
  if (risen > 0 && first.value >= 0) to_start = std::min(to_start, sampled * (first.value / risen));
  const double close = between * 1.1;
  const double whole = sampled + (to_start < close ? to_start : between / 2) + (to_end < close ? to_end : between / 2);
  return risen * (whole / sampled);
}

// The minimum or maximum; NaN only if all values are NaN.
double extreme(Samples samples, bool largest) {
  double found = samples.front().value;
  for (const query::Point &point : samples)
    if (std::isnan(found) || (largest ? point.value > found : point.value < found)) found = point.value;
  return found;
}

// The average, weighted by time if all samples have windows.
double average(Samples samples, int64_t step_ns, int64_t range_ns) {
  const bool has_windows = std::all_of(samples.begin(), samples.end(), [](const query::Point &one) { return one.duration_ns > 0; });
  double mean = 0, weights = 0;
  for (const query::Point &point : samples) {
    const int64_t begin = std::max(core::start_of(point.time_ns, point.duration_ns), step_ns - range_ns);
    const double weight = has_windows ? static_cast<double>(std::min(point.time_ns, step_ns) - begin) : 1;
    weights += weight;
    mean += (point.value - mean) * (weight / weights);
  }
  return mean;
}

std::optional<double> of_samples(std::string_view function, Samples samples, int64_t step_ns, int64_t range_ns) {
  if (samples.empty()) return std::nullopt;
  if (function == "increase") return increase(samples, step_ns, range_ns);
  if (function == "rate") {
    const std::optional<double> risen = increase(samples, step_ns, range_ns);
    return risen ? std::optional(*risen / (static_cast<double>(range_ns) / 1e9)) : std::nullopt;
  }
  if (function == "count_over_time") return static_cast<double>(samples.size());
  if (function == "last_over_time") return samples.back().value;
  if (function == "min_over_time" || function == "max_over_time") return extreme(samples, function == "max_over_time");
  if (function == "avg_over_time") return average(samples, step_ns, range_ns);
  double sum = 0;
  for (const query::Point &point : samples) sum += point.value;
  return sum;
}

bool is_of_times(std::string_view function) {
  return function == "avg_over_time" || function == "min_over_time" || function == "max_over_time" || function == "last_over_time";
}

query::Tags kept_labels(const query::Tags &labels, bool keeps, const std::vector<std::string> &names) {
  query::Tags kept;
  for (const auto &label : labels) {
    const bool named = std::find(names.begin(), names.end(), label.first) != names.end();
    if (named == keeps && (keeps || label.first != kNameLabel)) kept.insert(label);
  }
  return kept;
}

// The aggregation of a group at one step.
class Sum {
 public:
  void add(double value, std::string_view function) {
    ++count_;
    if (count_ == 1) {
      value_ = value;
    } else if (function == "max" || function == "min") {
      if (std::isnan(value_) || (function == "max" ? value > value_ : value < value_)) value_ = value;
    } else {
      value_ += value;
    }
  }
  double of(std::string_view function) const {
    if (count_ == 0) return absent();
    if (function == "count") return static_cast<double>(count_);
    return function == "avg" ? value_ / static_cast<double>(count_) : value_;
  }

 private:
  size_t count_ = 0;
  double value_ = 0;
};

// Keeps the largest values of each group at each step, and marks the others as absent.
void keep_largest(Columns &columns, const std::vector<std::vector<size_t>> &groups, const std::vector<double> &counts) {
  for (size_t step = 0; step < counts.size(); ++step) {
    const double wanted = counts[step] >= 1 ? std::floor(counts[step]) : 0;
    for (const std::vector<size_t> &group : groups) {
      std::vector<size_t> order;
      for (const size_t i : group)
        if (!is_absent(columns[i].values[step])) order.push_back(i);
      if (static_cast<double>(order.size()) <= wanted) continue;
      const auto keep = order.begin() + static_cast<std::ptrdiff_t>(wanted);
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        const double left = columns[a].values[step], right = columns[b].values[step];
        return !std::isnan(left) && (std::isnan(right) || left > right);
      });
      for (auto i = keep; i != order.end(); ++i) columns[*i].values[step] = absent();
    }
  }
}

// The result of a comparison is the left value or absent; with bool it is 1 or 0.
double result_of(const Expression &binary, double left, double right, double kept) {
  if (is_absent(left) || is_absent(right)) return absent();
  const double value = calculated(binary.word, left, right);
  if (!is_comparison(binary.word) || binary.returns_bool) return value;
  return value != 0 ? kept : absent();
}

bool drops_name(const Expression &binary) {
  return !is_comparison(binary.word) || binary.returns_bool;
}

bool has_values(const Column &column) {
  return std::any_of(column.values.begin(), column.values.end(), [](double value) { return !is_absent(value); });
}

query::Tags partner_key(const Expression &binary, const query::Tags &labels) {
  return binary.matches_all ? kept_labels(labels, false, {}) : kept_labels(labels, binary.keeps_labels, binary.labels);
}

}  // namespace

double absent() {
  return std::bit_cast<double>(kAbsentBits);
}

bool is_absent(double value) {
  // Arithmetic may have set the quiet bit of the NaN.
  return (std::bit_cast<uint64_t>(value) & ~(uint64_t{1} << 51)) == kAbsentBits;
}

std::vector<double> over_time(std::string_view function, const std::vector<query::Point> &points, const Steps &steps,
                              int64_t range_ns, query::Budget &budget) {
  std::vector<double> values;
  size_t begin = 0, end = 0;
  for (int64_t time = steps.from_ns; time <= steps.to_ns; time += steps.step_ns) {
    while (end < points.size() && points[end].time_ns <= time) ++end;
    while (begin < end && points[begin].time_ns <= time - range_ns) ++begin;
    const bool has_next = is_of_times(function) && end < points.size() && points[end].covers(time);
    const size_t size = end - begin + (has_next ? 1 : 0);
    budget.work(size + 1);
    values.push_back(of_samples(function, Samples(points).subspan(begin, size), time, range_ns).value_or(absent()));
  }
  return values;
}

Columns aggregated(const Expression &aggregation, Columns columns, const std::vector<double> &counts, query::Budget &budget) {
  std::map<query::Tags, std::vector<size_t>> groups;
  for (size_t i = 0; i < columns.size(); ++i)
    groups[kept_labels(columns[i].labels, aggregation.keeps_labels, aggregation.labels)].push_back(i);
  if (aggregation.word == "topk") {
    std::vector<std::vector<size_t>> lists;
    for (auto &[labels, list] : groups) lists.push_back(std::move(list));
    keep_largest(columns, lists, counts);
    std::erase_if(columns, [](const Column &column) { return !has_values(column); });
    return columns;
  }
  Columns sums;
  for (const auto &[labels, list] : groups) {
    Column sum{labels, {}};
    const size_t steps = columns[list.front()].values.size();
    budget.reserve(steps);
    for (size_t step = 0; step < steps; ++step) {
      Sum at;
      for (const size_t i : list)
        if (!is_absent(columns[i].values[step])) at.add(columns[i].values[step], aggregation.word);
      sum.values.push_back(at.of(aggregation.word));
    }
    budget.work(steps * list.size());
    sums.push_back(std::move(sum));
  }
  return sums;
}

double calculated(std::string_view sign, double left, double right) {
  if (sign == "+") return left + right;
  if (sign == "-") return left - right;
  if (sign == "*") return left * right;
  if (sign == "/") return left / right;
  if (sign == "%") return std::fmod(left, right);
  if (sign == "^") return std::pow(left, right);
  const bool holds = sign == "=="   ? left == right
                     : sign == "!=" ? left != right
                     : sign == ">"  ? left > right
                     : sign == "<"  ? left < right
                     : sign == ">=" ? left >= right
                                    : left <= right;
  return holds ? 1 : 0;
}

Columns combined(const Expression &binary, Columns columns, const std::vector<double> &numbers, bool left) {
  for (Column &column : columns) {
    for (size_t i = 0; i < column.values.size(); ++i) {
      double &value = column.values[i];
      value = left ? result_of(binary, numbers[i], value, value) : result_of(binary, value, numbers[i], value);
    }
    if (drops_name(binary)) column.labels.erase(kNameLabel);
  }
  return columns;
}

Columns combined(const Expression &binary, const Columns &left, const Columns &right, query::Budget &budget) {
  std::map<query::Tags, const Column *> partners;
  const auto several = [&](const char *side) {
    return query::Wrong("the operator " + binary.word + ": several series on the " + side +
                        " side have the same labels; aggregate them with by, or name more labels");
  };
  for (const Column &column : right)
    if (has_values(column) && !partners.emplace(partner_key(binary, column.labels), &column).second) throw several("right");
  std::map<query::Tags, bool> used;
  Columns results;
  for (const Column &column : left) {
    if (!has_values(column)) continue;
    query::Tags key = partner_key(binary, column.labels);
    const auto partner = partners.find(key);
    if (partner == partners.end()) continue;
    if (!used.emplace(key, true).second) throw several("left");
    Column result{drops_name(binary) ? std::move(key) : column.labels, {}};
    budget.reserve(column.values.size());
    budget.work(column.values.size());
    for (size_t i = 0; i < column.values.size(); ++i)
      result.values.push_back(result_of(binary, column.values[i], partner->second->values[i], column.values[i]));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace atalaya::serve
