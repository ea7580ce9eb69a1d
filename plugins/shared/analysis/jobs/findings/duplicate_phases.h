// SPDX-License-Identifier: Apache-2.0
// Phases that are reported twice: by lines of the tasks, and less exactly by the framework's history.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/model/tasks.h"

namespace atalaya::jobs {

// Keeps one of the two reports of a phase, so that each time counts once and the tasks of a stage are comparable: if attempts
// report the same phase in both ways, the lines count if at least half of the stage's tasks have any, else the history. Notes
// report what is ignored. Bytes that only the history reports are kept, and so are its phases with names and times that no line
// of their task has.
std::vector<Phase> remove_duplicate_phases(std::vector<Phase> lines, std::vector<Phase> history, const JobData &data,
                                           std::vector<std::string> &notes);

}  // namespace atalaya::jobs
