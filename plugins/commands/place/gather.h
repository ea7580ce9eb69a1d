// SPDX-License-Identifier: Apache-2.0
// From what the hosts told to the problem.
#pragma once

#include <functional>
#include <vector>

#include "plugins/commands/place/problem.h"
#include "plugins/graph/graph.h"

namespace atalaya::place {

// `movable` says which nodes of the graph may be placed. What else runs on a host stays there, and takes its room.
Problem problem_of(const graph::Graph &graph, const std::vector<graph::Worker> &workers, std::vector<Room> hosts,
                   const std::function<bool(const graph::Node &)> &movable);

}  // namespace atalaya::place
