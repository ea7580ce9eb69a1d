// SPDX-License-Identifier: Apache-2.0
// Answers as text.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/phases/database.h"
#include "plugins/shared/analysis/phases/models/models.h"
#include "plugins/shared/analysis/phases/runs.h"

namespace atalaya::phases {

// Known phases, with what their runs say of them.
std::string phases_table(const PhaseDatabase &database, const std::vector<ProgramRun> &runs);
// The phases of each run in order.
std::string runs_table(const std::vector<ProgramRun> &runs);
// The models and how good they are.
std::string models_table(const Models &models, const std::string &process);
// The phases of a run in order, and the next one if training knows it.
std::vector<Observation> predictable(const ProgramRun &run, const Models &models);
// Predicted and seen, of each phase of a run, and of the next one.
std::string predictions_table(const ProgramRun &run, const Models &models);

// "CPU 3.1 core-s" and so on.
std::string amount_text(double value, Target target);
std::string time_of_run(const ProgramRun &run);
// Adds what runs say to the phases: time, resources, the phases before. For exports.
void add_statistics(PhaseDatabase &database, const std::vector<ProgramRun> &runs);
// Functions of the phase with the largest shares, as few as say it.
std::vector<std::string> top_functions(const KnownPhase &phase, const Symbols &symbols, size_t most);

}  // namespace atalaya::phases
