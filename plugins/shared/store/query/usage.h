// SPDX-License-Identifier: Apache-2.0
// Usage in a range: integrals of series over the windows in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"
#include "plugins/shared/store/query/windows/coverage.h"

namespace atalaya::query {

struct Usage {
  Tags tags;  // values of the tags by which usage is grouped
  std::string metric;
  double sum = 0;           // in units of `sum_unit`
  double amount = 0;        // sum of values x seconds; for amounts the sum of values
  double average = 0;       // average over the collected time: the sum of the averages of the hosts
  double coverage = 1;      // the collected part of the range
  double min = 0, max = 0;  // minimum and maximum of the group over its windows
  std::string unit;         // UCUM; "": unknown
  std::string sum_unit;     // unit for people: "core-seconds", "MiB-hours", "MiB"
  Coverage covered;         // the parts of the range with windows of the group
};

// Whether the values are per cent of one core: 200 means two cores.
bool is_per_core(std::string_view metric, const store::MetricInfo &info);

// The unit of the integral of a metric over time, for people, and the value of a second at 1: 0.01 core-seconds at 1 % of a core.
struct IntegralUnit {
  std::string name;
  double per_second = 1;
};
IntegralUnit integral_unit(std::string_view metric, const store::MetricInfo *info);

// Returns usage by metric, the largest sums first. A window that is partly in the range counts in proportion. A sample of an
// instant covers the time since the previous one, maximum five minutes. Deltas are added; the result of totals is the
// difference. `undeclared`: declarations, from a caller that knows the metrics, of metrics without a declaration in the store.
// Throws as run_query does. Groups are read in parts, so that their number is not limited; the number of series is limited as
// in run_query.
std::vector<Usage> usage_of(const std::vector<std::string> &metrics, const std::vector<store::TagFilter> &tags,
                            const std::vector<std::string> &group_by, const Range &range, store::Store &store, Budget &budget,
                            const store::MetricInfo *undeclared = nullptr);

}  // namespace atalaya::query
