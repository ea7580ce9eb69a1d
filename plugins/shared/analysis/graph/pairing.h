// SPDX-License-Identifier: Apache-2.0
// Pairs the two ends of each connection in the flows of all hosts.
//
// Flows with the same addresses and port on both sides are a group. In a group with one client or one server, and equal counts on
// both sides, the counts of each end show the traffic of each process. If several clients meet several servers at one address and
// port, as with forking servers, the bytes of each client are divided in proportion to those of the servers: an estimate. The
// same holds for several flows of the side that counted more. The rest of a flow may belong to another group, found by another
// key; a difference that remains between the ends is traffic with an unknown peer.
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
