// SPDX-License-Identifier: Apache-2.0
// The search for a placement: all placements of small problems; else packings and a genetic algorithm, each with a walk to the
// nearest optimum.
#pragma once

#include <cstdint>

#include "plugins/commands/place/problem.h"
#include "plugins/shared/store/query/budget.h"

namespace atalaya::place {

struct SearchOptions {
  unsigned population = 80;
  unsigned generations = 200;
  unsigned rounds = 8;  // of the genetic algorithm; fewer for large problems
  unsigned seed = 1;    // the same problem and seed give the same placement
};

// Whether the search tries every placement, so that its result is optimal.
bool is_enumerable(const Problem &problem);
// The best placement found; never worse than `start`. Throws TooMuch after the time limit.
Placement search(const Problem &problem, const Placement &start, const SearchOptions &options, query::Budget &budget);

}  // namespace atalaya::place
