// SPDX-License-Identifier: Apache-2.0
// Runs queries over any store.
#pragma once

#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

// Selects series, computes their rates, downsamples each of them, and merges those of a group. Answers are sorted by metric and
// tags. Throws Wrong, UnknownMetric, TooMuch and store::Error.
std::vector<Answer> run_query(const Query &query, store::Store &store, Budget &budget);

// Selects and checks the series of a query. Throws if they exceed the budget, or this number.
std::vector<store::Series> selected(const Query &query, store::Store &store, Budget &budget);
std::vector<store::Series> selected(const Query &query, store::Store &store, size_t maximum);

// Selects the answers with the largest values: by average, or by sum, in which a short peak has little weight.
// Keeps at most `top` answers of each metric, those with the largest integrals, and the largest first; 0: all. Releases the others,
// or moves them to `rest`, by metric.
void select_top(std::vector<Answer> &answers, size_t top, Budget &budget, std::vector<Answer> *rest = nullptr);
// Releases the points of the answers.
void release(const std::vector<Answer> &answers, Budget &budget);

}  // namespace atalaya::query
