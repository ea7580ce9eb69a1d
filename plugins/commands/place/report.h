// SPDX-License-Identifier: Apache-2.0
// A placement beside the one that is: for people, for programs, for Kubernetes.
#pragma once

#include <string>

#include "plugins/commands/place/problem.h"

namespace atalaya::place {

std::string as_table(const Problem &problem, const Present &now, const Placement &after);
std::string as_json(const Problem &problem, const Present &now, const Placement &after);
// A patch of a pod template for each name that is placed: on which nodes its pods have to run.
std::string as_kubernetes(const Problem &problem, const Placement &after);

}  // namespace atalaya::place
