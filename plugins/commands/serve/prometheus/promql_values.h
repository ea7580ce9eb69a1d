// SPDX-License-Identifier: Apache-2.0
// Values of PromQL at steps, and its arithmetic. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/commands/serve/prometheus/prometheus.h"
#include "plugins/commands/serve/prometheus/promql_syntax.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::serve {

// A value at each step. A step without a value has a mark, not NaN, which is a value: 0 / 0.
double absent();
bool is_absent(double value);

struct Column {
  query::Tags labels;  // with __name__, where the value is still that of the metric
  std::vector<double> values;
};
using Columns = std::vector<Column>;

inline constexpr const char *kNameLabel = "__name__";

// The function of the samples in (step - range, step], for each step; the labels are not set. The windows of avg, min, max and last
// count by their part in the range; sum and count have the samples that end in it.
std::vector<double> over_time(std::string_view function, const std::vector<query::Point> &points, const Steps &steps,
                              int64_t range_ns, query::Budget &budget);
// `counts`: of topk, at each step.
Columns aggregated(const Expression &aggregation, Columns columns, const std::vector<double> &counts, query::Budget &budget);

double calculated(std::string_view sign, double left, double right);
// A number with each series; `left`: the number is on the left.
Columns combined(const Expression &binary, Columns columns, const std::vector<double> &numbers, bool left);
// Series with equal labels. Throws query::Wrong if a series has several partners.
Columns combined(const Expression &binary, const Columns &left, const Columns &right, query::Budget &budget);

}  // namespace atalaya::serve
