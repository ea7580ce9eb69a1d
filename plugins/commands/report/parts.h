// SPDX-License-Identifier: Apache-2.0
// The parts of a report, and their forms as table, CSV and JSON.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/query/usage.h"

namespace atalaya::report_command {

// A named time range: that of the query, or of one experiment.
struct Part {
  query::Tags tags;
  query::Range range;
  std::vector<query::Usage> usages;
};
struct Usages {
  std::vector<std::string> keys;  // of tags: the columns before the metric
  std::vector<Part> parts;
};

// The value of a key of the row; "" if absent.
std::string cell(const Part &part, const query::Usage &usage, const std::string &key);
// With three decimals; empty for values that are not finite, such as an overflowed sum.
std::string shown(double value);

std::string as_table(const Usages &usages);
std::string as_csv(const Usages &usages);
std::string as_json(const Usages &usages);

}  // namespace atalaya::report_command
