// SPDX-License-Identifier: Apache-2.0
// What was used in a time: integrals of series over the windows that lie in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/query/budget.h"
#include "plugins/shared/analysis/query/coverage.h"
#include "plugins/shared/analysis/query/types.h"

namespace atalaya::query {

struct Usage {
  Tags tags;  // those that were grouped by
  std::string metric;
  double sum = 0;           // in `sum_unit`: core-seconds, MiB-hours, MiB
  double average = 0;       // over the whole time, of the group
  double min = 0, max = 0;  // of the group, window by window
  std::string_view unit;
  Coverage covered;  // the part of the time that windows of the group lie in
};

// The unit of the integral of a metric over time, and what a second at the value 1 is in it: core-seconds of per cent of a core.
struct IntegralUnit {
  std::string_view name;
  double per_second = 1;
};
IntegralUnit integral_unit(std::string_view metric);

// By metric, the largest sums first. A window that lies in the range by a part counts by that part; a sample of an instant stands
// for the time since the one before, five minutes at most. Throws as answers_to does.
std::vector<Usage> usage_of(const std::vector<std::string> &metrics, const std::vector<store::TagFilter> &tags,
                            const std::vector<std::string> &group_by, const Range &range, store::Store &store, Budget &budget);

}  // namespace atalaya::query
