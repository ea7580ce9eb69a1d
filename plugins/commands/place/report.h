// SPDX-License-Identifier: Apache-2.0
// A placement compared with the current one: as text, JSON and Kubernetes patches.
#pragma once

#include <string>

#include "plugins/commands/place/problem.h"

namespace atalaya::place {

std::string as_table(const Problem &problem, const Present &now, const Placement &after);
std::string as_json(const Problem &problem, const Present &now, const Placement &after);
// A patch of a pod template for each placed name: the nodes for its pods.
std::string as_kubernetes(const Problem &problem, const Placement &after);

}  // namespace atalaya::place
