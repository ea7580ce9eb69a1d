// SPDX-License-Identifier: Apache-2.0
// Prepares the series of a chart. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::serve {

// A round length (such as 1 s, 5 s or 1 min), minimum 1 s, that divides the range into at most `points` intervals.
int64_t interval_for(const query::Range &range, int64_t points);

// Adds up the answers of several metrics that have equal values of the tags `keys`. If `keys` is empty and `grouped` is false, all
// tags must be equal.
std::vector<query::Answer> summed(std::vector<query::Answer> answers, const std::vector<std::string> &keys, bool grouped,
                                  query::Budget &budget);

// The `top` answers in descending order of their integrals, and the sum of the `omitted_count` others.
struct TopSeries {
  std::vector<query::Answer> answers;
  std::vector<query::Point> other;
  size_t omitted_count = 0;
};
TopSeries top_series(std::vector<query::Answer> answers, size_t top, query::Budget &budget);

}  // namespace atalaya::serve
