// SPDX-License-Identifier: Apache-2.0
// The collected part of ranges and intervals.
#pragma once

#include <span>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

// The mean over the hosts; 1 if nothing is known about them.
double collected_part(std::span<const store::CollectedTime *const> hosts, const Range &range);

// Sets the coverage of an answer with intervals: which of its points, and which part of the range, were not collected
// completely.
void set_coverage(const Query &query, std::span<const store::CollectedTime *const> hosts, Answer &answer, Budget &budget);

// Adds the partly collected points of an operand to a result. A value from two such points has the smaller part.
void add_partly(const Answer &from, Answer &to);

}  // namespace atalaya::query
