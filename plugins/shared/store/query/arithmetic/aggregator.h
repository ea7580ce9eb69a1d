// SPDX-License-Identifier: Apache-2.0
// OpenTSDB's aggregators: functions of values, and the substitute for the missing value of a series at a time at which others
// have one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::query {

struct Aggregator {
  enum class Function { sum, avg, min, max, count, dev, first, last, percentile };
  // The substitute between the first and the last point of a series: the value on the line between its neighbours, 0, or none.
  // Where OpenTSDB adds 0 to a sum, or uses the largest number in a minimum, none has the same result.
  enum class Missing { interpolate, zero, nothing };

  std::string name;
  Function function = Function::sum;
  Missing missing = Missing::nothing;
  double percentile = 0;  // 0 to 100

  static Aggregator zimsum() { return {"zimsum", Function::sum, Missing::nothing, 0}; }
  // Finds "sum", "p95", "p99.9" or "p999" (99.9 in OpenTSDB); nothing for an unknown name.
  static std::optional<Aggregator> find(std::string_view name);
  // The sorted names, with the usual percentiles.
  static std::vector<std::string> names();

  // Whether the result for a single value is that value.
  bool keeps_one() const { return function != Function::count && function != Function::dev; }
  // Whether it needs all values, not only their sum, count, minimum and maximum.
  bool needs_values() const { return function == Function::percentile || function == Function::dev; }
  // Applies the function to at least one value, none of them NaN. May reorder the values.
  double apply(std::span<double> values) const;
};

}  // namespace atalaya::query
