// SPDX-License-Identifier: Apache-2.0
// From a question to its answers, over any store.
#pragma once

#include <vector>

#include "plugins/query/budget.h"
#include "plugins/query/types.h"

namespace atalaya::query {

// Selects series, makes their rates, downsamples each of them, and merges those of a group. Answers come by metric and tags. Throws
// Wrong, TooMuch, and what the store throws. A metric that the store has never seen is UnknownMetric.
std::vector<Answer> answers_to(const Query &query, store::Store &store, Budget &budget);

// The series that a question is about, checked and within the budget.
std::vector<store::Series> selected(const Query &query, store::Store &store, Budget &budget);

// Leaves only so many answers, those with the largest averages, and the largest first; 0: all.
void keep_top(std::vector<Answer> &answers, size_t top);
// The average of the points that are numbers; NaN when there is none.
double average_of(const Answer &answer);

}  // namespace atalaya::query
