// SPDX-License-Identifier: Apache-2.0
// Searches a placement. Small problems: all placements are evaluated. Large problems: packings and a genetic algorithm, each
// followed by a local search (hill climbing).
#pragma once

#include <cstdint>

#include "plugins/commands/place/problem.h"
#include "plugins/shared/store/query/budget.h"

namespace atalaya::place {

struct SearchOptions {
  unsigned population = 80;
  unsigned generations = 200;
  unsigned rounds = 8;  // runs of the genetic algorithm; fewer for large problems
  unsigned seed = 1;    // the same problem and seed give the same placement
};

// Whether the search evaluates all placements, so that its result is optimal.
bool is_enumerable(const Problem &problem);
// Returns the best placement that it found; its fitness is at least that of `start`. Throws TooMuch after the time limit.
Placement search(const Problem &problem, const Placement &start, const SearchOptions &options, query::Budget &budget);

}  // namespace atalaya::place
