// SPDX-License-Identifier: Apache-2.0
// Phases as they begin and end, and which of them are not normal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/phases/database.h"
#include "plugins/shared/analysis/phases/models/models.h"

namespace atalaya::phases {

// Reads of a watcher, in addition to the runs of the last hour.
class WatchedRuns {
 public:
  virtual ~WatchedRuns() = default;
  // The normal runs of a program, with the functions of their phases. It is called once for each program.
  virtual std::vector<ProgramRun> normal(const std::string &process) = 0;
  // The runs of the process of this run, from this time on. None: they are too many.
  virtual std::vector<ProgramRun> since(const ProgramRun &run, int64_t from_ns) = 0;
  // Reads the functions of a phase of a run. False: they are too many, and remain unknown.
  virtual bool read_functions(const ProgramRun &run, Step &step) = 0;
};

class Watcher {
 public:
  Watcher(const PhaseDatabase &database, WatchedRuns &source) : database_(database), source_(source) {}

  // The lines about phases that began or ended since the last call. The first call says which have not ended. `runs`: those with a
  // phase after `from_ns`.
  std::string news(const std::vector<ProgramRun> &runs, int64_t from_ns, int64_t now_ns);

 private:
  // Of a process: the last begin and the last end. Later ones are new, also those of a phase that had ended and continues.
  struct Reported {
    int64_t begin_ns = 0, end_ns = 0;
  };
  std::string news(const ProgramRun &run, int64_t from_ns, int64_t now_ns, Reported &reported);
  std::string end_of(ProgramRun run, size_t position, int64_t from_ns);
  std::string anomalies(ProgramRun run, const Models &normal, size_t inputs);
  const Models &models(const std::string &process);

  const PhaseDatabase &database_;
  WatchedRuns &source_;
  int64_t begin_ns_ = 0;                                              // of watching: the time of the first look; 0 during it
  std::map<std::string, Models> models_;                              // by program
  std::map<std::pair<std::string, std::string>, Reported> reported_;  // by host and pid, of the processes of the last call
};

}  // namespace atalaya::phases
