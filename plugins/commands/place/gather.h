// SPDX-License-Identifier: Apache-2.0
// From what the hosts told to the problem.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plugins/commands/place/problem.h"
#include "plugins/shared/analysis/graph/graph.h"

namespace atalaya::place {

// `movable` says which nodes of the graph may be placed. What else runs on a host stays there, and takes its room; where that host
// is not among `hosts`, what it moves with others crosses hosts in every placement.
Problem problem_of(const graph::Graph &graph, const std::vector<graph::Worker> &workers, std::vector<Room> hosts, double fill,
                   const std::function<bool(const graph::Node &)> &movable);
// Hosts that items are on, and that are not among the problem's.
std::vector<std::string> others(const Problem &problem);
// `hosts`, and these others: as `known` has them, else of no more than their names is known.
std::vector<Room> with_others(std::vector<Room> hosts, const std::vector<std::string> &others, const std::vector<Room> &known);

}  // namespace atalaya::place
