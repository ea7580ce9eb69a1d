// SPDX-License-Identifier: Apache-2.0
// Phases of stored stacks.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/phases/gather.h"
#include "plugins/shared/analysis/phases/mine.h"

namespace atalaya::phases {

// One process with its phases.
struct LearnedRun {
  ProcessTrace trace;
  Mined mined;
  std::vector<std::string> ids;               // by phase of `mined`
  std::vector<StoredOccurrence> occurrences;  // in order
};

// Mines each trace and adds its phases to the database.
LearnedRun learn(ProcessTrace trace, Key key, const MineOptions &options, PhaseDatabase &database);

}  // namespace atalaya::phases
