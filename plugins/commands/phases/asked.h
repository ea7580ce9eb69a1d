// SPDX-License-Identifier: Apache-2.0
// The options of the command, and the data that they select in a store.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/phases/gather.h"

namespace atalaya::phases {

struct PhasesOptions {
  // Throws Failure.
  explicit PhasesOptions(Host host);

  Host host;
  command_line::ReadOptions options;
  std::string profile;
  Key key;
  size_t min_length;
  std::string train_from, train_to, train_experiment;
  bool save, dry_run, json;
  std::string file;
  std::vector<store::TagFilter> tags;
  std::vector<Group> groups;

  Wanted wanted(const store::Range &range) const { return {tags, range, profile}; }
  // The range of the normal runs, from the options; default end: `end_ns`. Throws query::Wrong.
  store::Range training_range(const command_line::Reading &reading, int64_t end_ns) const;
};

// The runs of each program, with the functions of their phases. Key: the program.
std::map<std::string, std::vector<ProgramRun>> runs_by_program(store::Store &store, const Wanted &of, const PhaseDatabase &database,
                                                               query::Budget &budget);

// Prints the error that the range has no `what`; returns the exit status.
int report_no_data(const std::string &what, const store::Range &range);

}  // namespace atalaya::phases
