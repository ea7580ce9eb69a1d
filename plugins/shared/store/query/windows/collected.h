// SPDX-License-Identifier: Apache-2.0
// The collected part of ranges and intervals.
#pragma once

#include <span>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

// The mean of the hosts: 1 if nothing is known of them.
double collected_part(std::span<const store::CollectedTime *const> hosts, const Range &range);

// Of an answer with intervals: which of its points, and how much of the range, were not collected completely.
void set_coverage(const Query &query, std::span<const store::CollectedTime *const> hosts, Answer &answer, Budget &budget);

// Of a value of both: it rests on the smaller part.
void add_partly(const Answer &from, Answer &to);

}  // namespace atalaya::query
