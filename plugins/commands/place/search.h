// SPDX-License-Identifier: Apache-2.0
// The genetic search: a genome is a host for each item.
#pragma once

#include <cstdint>

#include "plugins/commands/place/problem.h"
#include "plugins/shared/analysis/query/budget.h"

namespace atalaya::place {

struct SearchOptions {
  unsigned population = 80;
  unsigned generations = 200;
  unsigned rounds = 8;  // independent searches; the best result counts
  unsigned seed = 1;    // the same problem and seed give the same placement
};

// The best placement found; never worse than `start`. Throws TooMuch after the time limit.
Placement search(const Problem &problem, const Placement &start, const SearchOptions &options, query::Budget &budget);

}  // namespace atalaya::place
