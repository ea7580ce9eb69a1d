// SPDX-License-Identifier: Apache-2.0
// What a report holds, and how it is written as a table, CSV or JSON.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/query/usage.h"

namespace atalaya::report_command {

// A time with a name: the question's, or one experiment's.
struct Part {
  query::Tags tags;
  query::Range range;
  std::vector<query::Usage> usages;
};
struct Usages {
  std::vector<std::string> keys;  // of tags: the columns before the metric
  std::vector<Part> parts;
};

// The value of a key of that row; "" when it has none.
std::string cell(const Part &part, const query::Usage &usage, const std::string &key);
// With three decimals; nothing of what is no number: a sum of the largest ones is none.
std::string shown(double value);

std::string as_table(const Usages &usages);
std::string as_csv(const Usages &usages);
std::string as_json(const Usages &usages);

}  // namespace atalaya::report_command
