// SPDX-License-Identifier: Apache-2.0
// Phases that are told twice: by lines of the tasks themselves, and coarser by the framework's history.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/bottleneck/tasks.h"

namespace atalaya::bottleneck {

// Of both those that count, so that each time is there once and the tasks of a stage can be compared: where the same phase of an
// attempt is in both, the stage's phases are the lines' if at least half of its tasks have any, else the history's. What that
// leaves out is noted; bytes that only the history has of a phase stay, and so do its phases whose name no line has and in whose
// time no line of their task lies.
std::vector<Phase> remove_duplicate_phases(std::vector<Phase> lines, std::vector<Phase> history, const JobData &data,
                             std::vector<std::string> &notes);

}  // namespace atalaya::bottleneck
