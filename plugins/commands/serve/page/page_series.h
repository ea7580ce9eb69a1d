// SPDX-License-Identifier: Apache-2.0
// The series of a chart, as columns. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::serve {

// A length that people like, so that the range has at most that number of intervals: at least one second.
int64_t interval_for(const query::Range &range, int64_t points);

// Answers of several metrics with equal values of these tags as one, their sum. `keys` empty and not `grouped`: all tags.
std::vector<query::Answer> summed(std::vector<query::Answer> answers, const std::vector<std::string> &keys, bool grouped,
                                  query::Budget &budget);

// The `top` answers with the largest integrals, the largest first, and the sum of the others, if there are any.
struct Shown {
  std::vector<query::Answer> answers;
  std::vector<query::Point> other;
  size_t left_out = 0;
};
Shown shown_of(std::vector<query::Answer> answers, size_t top, query::Budget &budget);

}  // namespace atalaya::serve
