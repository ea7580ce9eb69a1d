// SPDX-License-Identifier: Apache-2.0
// OpenTSDB's aggregators: functions of values, and of a series without a value at a time when others have one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::query {

struct Aggregator {
  enum class Function { sum, avg, min, max, count, dev, first, last, percentile };
  // Between the first and the last point of a series: on the line between its neighbours, 0, or nothing. Where OpenTSDB puts 0 into
  // a sum, or the largest number into a minimum, nothing gives the same result.
  enum class Missing { interpolate, zero, nothing };

  std::string name;
  Function function = Function::sum;
  Missing missing = Missing::nothing;
  double percentile = 0;  // 0 to 100

  static Aggregator zimsum() { return {"zimsum", Function::sum, Missing::nothing, 0}; }
  // "sum", "p95", "p99.9", "p999" (99.9, as OpenTSDB has it); nothing for an unknown name.
  static std::optional<Aggregator> find(std::string_view name);
  // Sorted, with the usual percentiles.
  static std::vector<std::string> names();

  // Whether it makes of a single value that value.
  bool keeps_one() const { return function != Function::count && function != Function::dev; }
  // Whether no sum, count or end of the values is enough.
  bool needs_values() const { return function == Function::percentile || function == Function::dev; }
  // Of at least one value, none of them NaN; the values may be put into another order.
  double of(std::span<double> values) const;
};

}  // namespace atalaya::query
