// SPDX-License-Identifier: Apache-2.0
// Reads flows and the resource use of processes from the store.
#pragma once

#include <vector>

#include "plugins/shared/analysis/graph/conntrack.h"
#include "plugins/shared/analysis/graph/flow.h"
#include "plugins/shared/analysis/graph/graph.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::graph {

// Reads the flows, summed over the range; a window that is partly in the range counts in proportion. Each process (host and pid)
// gets its last reported names.
std::vector<Flow> read_flows(const std::vector<store::TagFilter> &tags, const query::Range &range, store::Store &store,
                             query::Budget &budget);
// Adds the translations of addresses that hosts reported in the range (source nat).
void add_reported_translations(const query::Range &range, store::Store &store, query::Budget &budget, Translations &translations);
// Reads the average resource use of processes over the part of the range in which their host reported processes. Hosts that
// reported none have no workers.
std::vector<Worker> read_workers(const query::Range &range, store::Store &store, query::Budget &budget);

}  // namespace atalaya::graph
