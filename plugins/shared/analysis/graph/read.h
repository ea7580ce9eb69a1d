// SPDX-License-Identifier: Apache-2.0
// Flows and what processes used, from the store.
#pragma once

#include <vector>

#include "plugins/shared/analysis/graph/flow.h"
#include "plugins/shared/analysis/graph/graph.h"
#include "plugins/shared/analysis/query/budget.h"
#include "plugins/shared/analysis/query/types.h"

namespace atalaya::graph {

// Sums over the time; of windows that lie in it by a part that part. A process, by host and pid, has the names that
// were told of it last.
std::vector<Flow> read_flows(const std::vector<store::TagFilter> &tags, const query::Range &range, store::Store &store,
                             query::Budget &budget);
// Averages over the part of the time in which their host told anything of its processes; none where none did.
std::vector<Worker> read_workers(const query::Range &range, store::Store &store, query::Budget &budget);

}  // namespace atalaya::graph
