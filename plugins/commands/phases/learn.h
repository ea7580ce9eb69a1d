// SPDX-License-Identifier: Apache-2.0
// Phases of stored stacks.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/phases/gather.h"
#include "plugins/shared/analysis/phases/mining/mine.h"

namespace atalaya::phases {

// One process with its phases.
struct LearnedRun {
  ProcessTrace trace;
  std::vector<Segment> segments;              // of the trace
  std::vector<std::string> ids;               // by phase of `segments`
  std::vector<StoredOccurrence> occurrences;  // in order
};

// Mines all runs of each program together, with its known phases, and adds the phases to the database. In the order of the traces.
std::vector<LearnedRun> learn(std::vector<ProcessTrace> traces, Key key, const MineOptions &options, PhaseDatabase &database);

}  // namespace atalaya::phases
