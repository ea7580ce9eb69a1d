// SPDX-License-Identifier: Apache-2.0
// Placements made item by item: starts for the search, and the answer to "what would fit".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plugins/commands/place/problem.h"

namespace atalaya::place {

using Groups = std::vector<std::vector<size_t>>;  // items

// Items that communicate, the heaviest pairs first, in groups that a host has room for.
Groups clusters_of(const Problem &problem);
// First fit by cluster, by connected items, and by name, on hosts in their order and the largest first.
std::vector<Placement> packings(const Problem &problem);

// Why the items do not fit, and what would: "h1 would need 416 % ...; it fits with 3 more hosts like h4".
std::string misfit_text(const Problem &problem, const Placement &placement);

}  // namespace atalaya::place
