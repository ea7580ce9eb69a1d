// SPDX-License-Identifier: Apache-2.0
// Both ends of each connection found in what all hosts told.
//
// Flows that name the same addresses and port from both sides are a group. Of a group with one client or one server, both sides of
// which saw the same, every end's own count says who moved what. Where several clients meet several servers of one address and
// port, as the processes of a fork server do, each client's bytes are divided as the servers' are: an estimate. So are the counts
// of several flows of the side that saw more. What is left of a flow may be of another group, found in another way; what then one
// end counted and the other did not is with an unknown peer.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "plugins/shared/analysis/graph/conntrack.h"
#include "plugins/shared/analysis/graph/flow.h"

namespace atalaya::graph {

constexpr size_t kUnknown = std::numeric_limits<size_t>::max();

struct Link {
  size_t client = kUnknown, server = kUnknown;  // indices of flows; at least one is known
  double forward = 0, backward = 0;             // bytes from the client to the server, and back
  bool estimated = false;
};

std::vector<Link> paired(const std::vector<Flow> &flows, const Translations &translations = {});

}  // namespace atalaya::graph
