// SPDX-License-Identifier: Apache-2.0
// Reads what the commands need from a store: traces of processes, and runs with their phases.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugins/shared/analysis/phases/assemble.h"
#include "plugins/shared/analysis/phases/runs.h"
#include "plugins/shared/analysis/phases/spans.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/store.h"

namespace atalaya::phases {

struct Wanted {
  std::vector<store::TagFilter> tags;
  store::Range range;
  std::string profile;  // "wall" or "cpu"; "": wall if the store has it, else cpu
};

// The trace of one run of a process, with its resources, for every window that has samples.
struct ProcessTrace {
  std::string host, process, pid;
  Trace trace;
  std::vector<int64_t> durations_ns;
  std::vector<ResourceValues> resources;
  std::vector<size_t> gaps;  // indices of samples before which windows are missing
};

// Reads the traces of all selected processes, sorted by host, name, pid and time. A pause longer than kRunPause starts another
// run of a pid. All traces share one table of symbols. Throws query::TooMuch, store::Error.
std::vector<ProcessTrace> read_traces(store::Store &store, const Wanted &wanted, Key key, const std::vector<Group> &groups,
                                      Symbols &symbols, query::Budget &budget);

// Restricts the selection to the process of this run.
Wanted of_process(Wanted wanted, const ProgramRun &run);

// Reads the occurrences of phases as runs, in order of their start. A pause longer than kRunPause starts another run of a pid.
std::vector<ProgramRun> read_runs(store::Store &store, const Wanted &wanted, const PhaseDatabase &database, query::Budget &budget);

// Reads the threads per sample in each function of a step. Adds nothing if the store has no stacks of it.
void read_functions(store::Store &store, const ProgramRun &run, Step &step, query::Budget &budget);

}  // namespace atalaya::phases
