// SPDX-License-Identifier: Apache-2.0
// Pairs the two ends of each connection in the flows of all hosts.
//
// Client flows and server flows with the same addresses and port form a group. If the group has one client or one server, and both
// sides counted equal bytes, the counts are the traffic of each pair of processes. If several clients and several servers share an
// address and port, as with forking servers, the bytes of each client are divided among the servers in proportion to the servers'
// bytes: an estimate. If one side counted more and has several flows, its matched bytes are divided in the same way. The unmatched
// rest of a flow is tried in groups by other keys; what remains is traffic with an unknown peer.
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
