// SPDX-License-Identifier: Apache-2.0
// Greedy placements (bin packing): start points of the search, and the number of hosts that would be enough.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plugins/commands/place/problem.h"

namespace atalaya::place {

using Groups = std::vector<std::vector<size_t>>;  // indices of the items of each group

// Groups items that communicate, in descending order of traffic; each group fits on one host.
Groups clusters_of(const Problem &problem);
// Returns first-fit placements, one for each pair of an item order (by clusters, by connections, by name) and a host order (as
// given, by descending capacity).
std::vector<Placement> greedy_placements(const Problem &problem);

// The reason why the items do not fit, and what is needed: "h1 would need 416 % ...; it fits with 3 more hosts like h4".
std::string misfit_text(const Problem &problem, const Placement &placement);

}  // namespace atalaya::place
