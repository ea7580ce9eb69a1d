// SPDX-License-Identifier: Apache-2.0
// Two experiments, row by row: the use of each, the difference and its per cent.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/store/query/usage.h"

namespace atalaya::report_command {

struct Side {
  std::string name;  // of the experiment
  query::Range range;
  std::vector<query::Usage> usages;  // of all groups
};

struct Difference {
  query::Tags tags;
  std::string metric, unit;  // the unit of the sums
  double first = 0, second = 0;
  bool total = false;  // of all rows of the metric
  double change() const { return second - first; }
  double percent() const;  // of the first; not a number if that is 0
};

struct Comparison {
  Side first, second;  // without usages
  std::vector<std::string> keys;
  std::vector<Difference> rows;  // by metric: the `top` largest ones, and then the total
};
Comparison compared(Side first, Side second, std::vector<std::string> keys, size_t top);

std::string as_table(const Comparison &comparison);
// Without the rows of totals.
std::string as_csv(const Comparison &comparison);
std::string as_json(const Comparison &comparison);

}  // namespace atalaya::report_command
