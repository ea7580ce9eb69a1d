// SPDX-License-Identifier: Apache-2.0
// Runs of code regions that are in no span. Who sees a function run a million times a second tells some of these runs as spans, and
// only counts the others: region.short and region.dropped.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/bottleneck/job_hosts.h"
#include "plugins/shared/analysis/bottleneck/tasks.h"
#include "plugins/shared/analysis/query/budget.h"
#include "plugins/shared/store/store.h"

namespace atalaya::bottleneck {

// A note names the regions that had any: of the jobs with these ids, or of all of the time. `hosts`: what says no job is of the
// jobs that ran there then; nullptr: it is not looked at by host. No number is told: a window does not say when in it they ran.
// More than half of what is allowed this does not cost, and what cannot be read costs the rest nothing: then a note says so.
void add_note_on_uncaptured_runs(JobData &data, const std::vector<std::string> &ids, const JobHosts *hosts,
                             const store::Selection &selection, store::Store &store, query::Budget &budget);

}  // namespace atalaya::bottleneck
