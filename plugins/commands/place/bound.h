// SPDX-License-Identifier: Apache-2.0
// A fitness that no placement without overload exceeds.
#pragma once

#include "plugins/commands/place/problem.h"

namespace atalaya::place {

// From the fewest hosts with enough cores, and with enough memory, and from the bytes that always cross hosts. Tight for hosts of
// one size without traffic between them.
double bound_of(const Problem &problem);

}  // namespace atalaya::place
