// SPDX-License-Identifier: Apache-2.0
// The parts of a report, and their forms as table, CSV and JSON.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/query/usage.h"

namespace atalaya::report_command {

// All series of a metric, and the part of the rows that --top leaves out.
struct Total {
  query::Usage whole;
  double other = 0;
  size_t others = 0;  // rows
};
// A named time range: that of the query, or of one experiment.
struct Part {
  query::Tags tags;
  query::Range range;
  std::vector<query::Usage> usages;
  std::map<std::string, Total, std::less<>> totals;  // by metric; empty if each row is a total
};
struct Usages {
  std::vector<std::string> keys;  // of tags: the columns before the metric
  std::vector<Part> parts;
};

// The value of a key of the row; "" if absent.
std::string cell(const Part &part, const query::Usage &usage, const std::string &key);
// Per cent of the metric's total. Not a number without a total, or if the total is not above 0.
double share_of(const Part &part, std::string_view metric, double sum);
// With three decimals; empty for values that are not finite, such as an overflowed sum.
std::string shown(double value);

std::string as_table(const Usages &usages);
std::string as_csv(const Usages &usages);
std::string as_json(const Usages &usages);

}  // namespace atalaya::report_command
