// SPDX-License-Identifier: Apache-2.0
// Builds the problem from data of the store.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plugins/commands/place/problem.h"
#include "plugins/shared/analysis/graph/graph.h"

namespace atalaya::place {

// `movable` selects the nodes of the graph that may be placed. Others stay on their hosts and use their capacity; on hosts
// outside `hosts`, their traffic crosses hosts in every placement.
Problem problem_of(const graph::Graph &graph, const std::vector<graph::Worker> &workers, std::vector<HostCapacity> hosts,
                   double fill, const std::function<bool(const graph::Node &)> &movable);
// Names of the hosts that have items but are not hosts of the problem.
std::vector<std::string> unlisted_hosts(const Problem &problem);
// Appends `others` to `hosts`, with their capacities from `known`; hosts not in `known` have an unknown capacity.
std::vector<HostCapacity> add_unlisted_hosts(std::vector<HostCapacity> hosts, const std::vector<std::string> &others,
                                             const std::vector<HostCapacity> &known);

}  // namespace atalaya::place
