// SPDX-License-Identifier: Apache-2.0
// From a question to its answers, over any store.
#pragma once

#include <vector>

#include "plugins/shared/analysis/query/budget.h"
#include "plugins/shared/analysis/query/types.h"

namespace atalaya::query {

// Selects series, makes their rates, downsamples each of them, and merges those of a group. Answers come by metric and tags. Throws
// Wrong, TooMuch, and what the store throws. A metric that the store has never seen is UnknownMetric.
std::vector<Answer> answers_to(const Query &query, store::Store &store, Budget &budget);

// The series that a question is about, checked and within the budget.
std::vector<store::Series> selected(const Query &query, store::Store &store, Budget &budget);

// What "most" is said of: the average of an answer's points, or their sum, which a short moment does not make large.
enum class Most { average, sum };
// Leaves only so many answers of each metric, those with the most, and the most first; 0: all. The others are no longer held.
void keep_top(std::vector<Answer> &answers, size_t top, Budget &budget, Most most = Most::average);
// The answers are used: their points are no longer held.
void release(const std::vector<Answer> &answers, Budget &budget);
// The average of the points that are numbers; NaN when there is none.
double average_of(const Answer &answer);

}  // namespace atalaya::query
