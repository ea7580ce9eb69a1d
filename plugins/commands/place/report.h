// SPDX-License-Identifier: Apache-2.0
// Formats the comparison of a placement with the current one as text, JSON and Kubernetes patches.
#pragma once

#include <string>

#include "plugins/commands/place/problem.h"

namespace atalaya::place {

// The quality of the proposed placement: no placement has a higher fitness than `bound`.
struct Quality {
  double bound = 1;
  bool optimal = false;  // true: proven to be optimal
};

std::string as_table(const Problem &problem, const CurrentState &now, const Placement &after, const Quality &quality);
std::string as_json(const Problem &problem, const CurrentState &now, const Placement &after, const Quality &quality);
// A patch of the pod template for each item name, with the nodes on which its pods may run.
std::string as_kubernetes(const Problem &problem, const Placement &after);

}  // namespace atalaya::place
