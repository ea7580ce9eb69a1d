// SPDX-License-Identifier: Apache-2.0
// Runs of code regions without spans. A source that sees a function run a million times per second reports some of these runs as
// spans and only counts the others: region.short and region.dropped.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/model/job_hosts.h"
#include "plugins/shared/analysis/jobs/model/tasks.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/store.h"

namespace atalaya::jobs {

// Adds a note with the names of such regions: of the jobs with these ids, or of the whole range. `hosts`: attributes data without
// a job to the jobs that ran there then; nullptr: no attribution. The note has no numbers, because a window does not show the
// exact times. Uses at most half of the budget; a failure adds a note and has no other effect.
void add_note_on_uncaptured_runs(JobData &data, const std::vector<std::string> &ids, const JobHosts *hosts,
                                 const store::Selection &selection, store::Store &store, query::Budget &budget);

}  // namespace atalaya::jobs
