// SPDX-License-Identifier: Apache-2.0
// Code regions that the spans of jobs do not tell.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/bottleneck/tasks.h"
#include "plugins/shared/analysis/query/budget.h"
#include "plugins/shared/store/store.h"

namespace atalaya::bottleneck {

// Of jobs that were asked for by their ids, the regions of their nodes and times that say no job; and a note on runs that are in no
// span.
void add_regions(JobData &data, const std::vector<std::string> &ids, const std::vector<store::TagFilter> &tags,
                 const store::Range &range, store::Store &store, query::Budget &budget);

}  // namespace atalaya::bottleneck
