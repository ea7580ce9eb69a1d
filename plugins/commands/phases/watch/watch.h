// SPDX-License-Identifier: Apache-2.0
// Reports phases when they start and end, and phases that are not normal.
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

// The data source of a Watcher, in addition to the runs of the last hour.
class WatchedRuns {
 public:
  virtual ~WatchedRuns() = default;
  // The normal runs of a program, with the functions of their phases. The watcher calls it once per program.
  virtual std::vector<ProgramRun> normal(const std::string &process) = 0;
  // The runs since `from_ns` of the process of this run; empty if they exceed the limits of a query.
  virtual std::vector<ProgramRun> since(const ProgramRun &run, int64_t from_ns) = 0;
  // Reads the functions of a phase of a run into `step`; false if they exceed the limits of a query.
  virtual bool read_functions(const ProgramRun &run, Step &step) = 0;
};

class Watcher {
 public:
  Watcher(const PhaseDatabase &database, WatchedRuns &source) : database_(database), source_(source) {}

  // The lines about phases that started or ended since the last call; the first call reports the open phases. `runs`: the runs with
  // a phase after `from_ns`.
  std::string new_lines(const std::vector<ProgramRun> &runs, int64_t from_ns, int64_t now_ns);

 private:
  // The last reported start and the last reported end of the phases of one process. A phase with a later start or end is reported,
  // also a phase that continued after its reported end.
  struct Reported {
    int64_t begin_ns = 0, end_ns = 0;
  };
  std::string new_lines(const ProgramRun &run, int64_t from_ns, int64_t now_ns, Reported &reported);
  std::string end_of(ProgramRun run, size_t position, int64_t from_ns);
  std::string anomalies(ProgramRun run, const Models &normal, size_t inputs);
  const Models &models(const std::string &process);

  const PhaseDatabase &database_;
  WatchedRuns &source_;
  int64_t watching_since_ns_ = 0;         // time of the first call of news; 0 during it
  std::map<std::string, Models> models_;  // by program: models of its normal runs
  std::map<std::pair<std::string, std::string>, Reported>
      reported_;  // by host and pid: state of the processes in the last call of new_lines
};

}  // namespace atalaya::phases
