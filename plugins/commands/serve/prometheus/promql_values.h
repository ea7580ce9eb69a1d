// SPDX-License-Identifier: Apache-2.0
// Values of PromQL at steps, and operations on them. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/commands/serve/prometheus/prometheus.h"
#include "plugins/commands/serve/prometheus/promql_syntax.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::serve {

// The marker of a step without a value. It is a special NaN: an ordinary NaN is a value, such as 0 / 0.
double absent();
bool is_absent(double value);

struct Column {
  query::Tags labels;          // with __name__ if the values are those of the metric, not of an operation
  std::vector<double> values;  // one per step
};
using Columns = std::vector<Column>;

inline constexpr const char *kNameLabel = "__name__";

// Applies the function to the samples in (step - range, step] for each step. avg, min, max and last use each sample in proportion
// to the part of its window that is in the range; sum and count use the samples whose window ends in it.
std::vector<double> over_time(std::string_view function, const std::vector<query::Point> &points, const Steps &steps,
                              int64_t range_ns, query::Budget &budget);
// Evaluates an aggregation. `counts`: the first argument of topk at each step.
Columns aggregated(const Expression &aggregation, Columns columns, const std::vector<double> &counts, query::Budget &budget);

double calculated(std::string_view sign, double left, double right);
// Evaluates a binary operator on each series and a number; `left`: the number is the left operand.
Columns combined(const Expression &binary, Columns columns, const std::vector<double> &numbers, bool left);
// Evaluates a binary operator on the series with equal labels. Throws query::Wrong if a series matches several.
Columns combined(const Expression &binary, const Columns &left, const Columns &right, query::Budget &budget);

}  // namespace atalaya::serve
