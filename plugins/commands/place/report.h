// SPDX-License-Identifier: Apache-2.0
// A placement compared with the current one: as text, JSON and Kubernetes patches.
#pragma once

#include <string>

#include "plugins/commands/place/problem.h"

namespace atalaya::place {

// How good the proposed placement is: no placement has a higher fitness than `bound`.
struct Quality {
  double bound = 1;
  bool optimal = false;  // proven
};

std::string as_table(const Problem &problem, const CurrentState &now, const Placement &after, const Quality &quality);
std::string as_json(const Problem &problem, const CurrentState &now, const Placement &after, const Quality &quality);
// A patch of a pod template for each placed name: the nodes for its pods.
std::string as_kubernetes(const Problem &problem, const Placement &after);

}  // namespace atalaya::place
