// SPDX-License-Identifier: Apache-2.0
// Learns phases from stored stacks.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/phases/gather.h"
#include "plugins/shared/analysis/phases/mining/mine.h"

namespace atalaya::phases {

// One process with its phases.
struct LearnedRun {
  ProcessTrace trace;
  std::vector<Segment> segments;              // segments of the trace
  std::vector<std::string> ids;               // id of a phase by its number in `segments`
  std::vector<StoredOccurrence> occurrences;  // in order of time
};

// Mines all runs of each program together, starting with its known phases, and adds new phases to the database. Returns the runs in
// the order of the traces.
std::vector<LearnedRun> learn(std::vector<ProcessTrace> traces, Key key, const MineOptions &options, PhaseDatabase &database);

}  // namespace atalaya::phases
