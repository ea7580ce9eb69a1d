// SPDX-License-Identifier: Apache-2.0
// Code regions of jobs that their spans do not say to be of a job.
#pragma once

#include <vector>

#include "plugins/bottleneck/tasks.h"
#include "plugins/query/budget.h"
#include "plugins/store/store.h"

namespace atalaya::bottleneck {

// Regions that say no job: those of the jobs' nodes and times. More than half of what is allowed they do not cost: then they are
// left out, which a note says.
void add_regions(Told &told, const std::vector<store::TagFilter> &tags, const store::Range &range, store::Store &store,
                 query::Budget &budget);

}  // namespace atalaya::bottleneck
