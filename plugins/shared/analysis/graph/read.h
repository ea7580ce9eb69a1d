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

// Sums over the range; windows that overlap it partly count in proportion. A process, by host and pid, has the names that were
// reported last.
std::vector<Flow> read_flows(const std::vector<store::TagFilter> &tags, const query::Range &range, store::Store &store,
                             query::Budget &budget);
// Adds the translations of addresses that hosts reported in the range (source nat).
void add_reported_translations(const query::Range &range, store::Store &store, query::Budget &budget, Translations &translations);
// Averages over the part of the range in which the host reported processes; none if it reported none.
std::vector<Worker> read_workers(const query::Range &range, store::Store &store, query::Budget &budget);

}  // namespace atalaya::graph
