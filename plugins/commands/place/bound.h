// SPDX-License-Identifier: Apache-2.0
// An upper bound of the fitness of placements without overload.
#pragma once

#include "plugins/commands/place/problem.h"

namespace atalaya::place {

// Computed from the minimum number of hosts with enough cores, that with enough memory, and the bytes that cross hosts in every
// placement. The bound is tight for equal hosts without traffic between them.
double bound_of(const Problem &problem);

}  // namespace atalaya::place
