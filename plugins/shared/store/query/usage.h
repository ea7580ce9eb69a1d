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
  Tags tags;  // those that were grouped by
  std::string metric;
  double sum = 0;           // in `sum_unit`
  double amount = 0;        // values by seconds; of amounts their sum
  double average = 0;       // over the collected time: the sum of those of the hosts
  double coverage = 1;      // the collected part of the range
  double min = 0, max = 0;  // of the group, window by window
  std::string unit;         // UCUM; "": unknown
  std::string sum_unit;     // for people: "core-seconds", "MiB-hours", "MiB"
  Coverage covered;         // by windows of the group
};

// The values are per cents of one core: 200 are two cores.
bool is_per_core(std::string_view metric, const store::MetricInfo &info);

// The unit of the integral of a metric over time, for people, and the value of a second at 1: 0.01 core-seconds at 1 % of a core.
struct IntegralUnit {
  std::string name;
  double per_second = 1;
};
IntegralUnit integral_unit(std::string_view metric, const store::MetricInfo *info);

// By metric, the largest sums first. A window that is partly in the range counts by that part. A sample of an instant covers the
// time since the one before, five minutes at most. Deltas are added, totals are differenced. `undeclared` is for a caller that
// knows the metrics: their declaration where the store has none. Throws as run_query does. Groups are read in parts, so that their
// number has no limit of its own; series as in run_query.
std::vector<Usage> usage_of(const std::vector<std::string> &metrics, const std::vector<store::TagFilter> &tags,
                            const std::vector<std::string> &group_by, const Range &range, store::Store &store, Budget &budget,
                            const store::MetricInfo *undeclared = nullptr);

}  // namespace atalaya::query
