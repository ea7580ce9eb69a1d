// SPDX-License-Identifier: Apache-2.0
// Phases as they begin and end, and which of them are not normal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/phases/database.h"
#include "plugins/shared/analysis/phases/models.h"

namespace atalaya::phases {

class Watcher {
 public:
  // The normal runs of a program, with the functions of their phases. It is called once for each program.
  using NormalRuns = std::function<std::vector<ProgramRun>(const std::string &process)>;
  // Reads the functions of all phases of a run.
  using Functions = std::function<void(ProgramRun &run)>;
  Watcher(const PhaseDatabase &database, NormalRuns normal, Functions functions)
      : database_(database), normal_(std::move(normal)), functions_(std::move(functions)) {}

  // The lines about phases that began or ended since the last call. The first call says which have not ended.
  std::string news(const std::vector<ProgramRun> &runs, int64_t now_ns);

 private:
  // Of a process: the last begin and the last end. Later ones are new, also those of a phase that had ended and continues.
  struct Reported {
    int64_t begin_ns = 0, end_ns = 0;
  };
  std::string news(const ProgramRun &run, int64_t now_ns, Reported &reported);
  std::string anomalies(ProgramRun run, size_t position);
  const Models &models(const std::string &process);

  const PhaseDatabase &database_;
  const NormalRuns normal_;
  const Functions functions_;
  int64_t begin_ns_ = 0;                                              // of watching: the time of the first look; 0 during it
  std::map<std::string, Models> models_;                              // by program
  std::map<std::pair<std::string, std::string>, Reported> reported_;  // by host and pid, of the processes of the last call
};

}  // namespace atalaya::phases
