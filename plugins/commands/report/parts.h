// SPDX-License-Identifier: Apache-2.0
// The parts of a report, and their formatting as table, CSV and JSON.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/query/usage.h"

namespace atalaya::report_command {

// The total of a metric over all series, and the sum of the rows beyond --top.
struct Total {
  query::Usage whole;
  double other = 0;
  size_t others = 0;  // number of the rows in `other`
};
// A named time range: that of the query, or of one experiment.
struct Part {
  query::Tags tags;
  query::Range range;
  std::vector<query::Usage> usages;
  std::map<std::string, Total, std::less<>> totals;  // by metric; empty if each row is a total
};
struct Usages {
  std::vector<std::string> keys;  // keys of tags: the columns before the metric
  std::vector<Part> parts;
};

// The value of the tag `key` of the row; "" if absent.
std::string cell(const Part &part, const query::Usage &usage, const std::string &key);
// `sum` in per cent of the metric's total; NaN if there is no total or it is not above 0.
double share_of(const Part &part, std::string_view metric, double sum);
// The value with three decimals; "" if it is not finite, such as an overflowed sum.
std::string shown(double value);

std::string as_table(const Usages &usages);
std::string as_csv(const Usages &usages);
std::string as_json(const Usages &usages);

}  // namespace atalaya::report_command
