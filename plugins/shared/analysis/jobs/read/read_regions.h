// SPDX-License-Identifier: Apache-2.0
// Reads code regions whose spans name no job.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/model/tasks.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/store.h"

namespace atalaya::jobs {

// For jobs selected by id, adds the regions of their nodes and times without a job, and a note on runs without spans.
void add_regions(JobData &data, const std::vector<std::string> &ids, const std::vector<store::TagFilter> &tags,
                 const store::Range &range, store::Store &store, query::Budget &budget);

}  // namespace atalaya::jobs
