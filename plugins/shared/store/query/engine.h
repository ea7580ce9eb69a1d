// SPDX-License-Identifier: Apache-2.0
// From a query to its answers, over any store.
#pragma once

#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

// Selects series, computes their rates, downsamples each of them, and merges those of a group. Answers come by metric and tags.
// Throws Wrong, UnknownMetric, TooMuch and store::Error.
std::vector<Answer> run_query(const Query &query, store::Store &store, Budget &budget);

// The series of a query, checked and within the budget, or at most this many.
std::vector<store::Series> selected(const Query &query, store::Store &store, Budget &budget);
std::vector<store::Series> selected(const Query &query, store::Store &store, size_t most);

// The order of "most": the average of an answer's points, or their sum, which a short peak does not make large.
// Keeps at most `top` answers of each metric, those with the largest integrals, and the largest first; 0: all. Releases the others,
// or moves them to `rest`, by metric.
void select_top(std::vector<Answer> &answers, size_t top, Budget &budget, std::vector<Answer> *rest = nullptr);
// Releases the points of the answers.
void release(const std::vector<Answer> &answers, Budget &budget);

}  // namespace atalaya::query
