// SPDX-License-Identifier: Apache-2.0
// Compares the usage in two experiments row by row: both sums, the difference, and the difference in per cent.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/store/query/usage.h"

namespace atalaya::report_command {

struct Side {
  std::string name;  // name of the experiment
  query::Range range;
  std::vector<query::Usage> usages;  // by group and metric
};

struct Difference {
  query::Tags tags;
  std::string metric, unit;  // the unit of the sums
  double first = 0, second = 0;
  bool total = false;  // the row is the sum over all rows of the metric
  double change() const { return second - first; }
  double percent() const;  // change in per cent of `first`; NaN if that is 0
};

struct Comparison {
  Side first, second;  // `usages` are empty
  std::vector<std::string> keys;
  std::vector<Difference> rows;  // by metric: the `top` largest changes, then the total
};
Comparison compared(Side first, Side second, std::vector<std::string> keys, size_t top);

std::string as_table(const Comparison &comparison);
// Formats the comparison as CSV, without the rows of totals.
std::string as_csv(const Comparison &comparison);
std::string as_json(const Comparison &comparison);

}  // namespace atalaya::report_command
