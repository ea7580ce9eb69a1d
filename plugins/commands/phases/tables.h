// SPDX-License-Identifier: Apache-2.0
// Formats results as text.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/phases/database.h"
#include "plugins/shared/analysis/phases/models/models.h"
#include "plugins/shared/analysis/phases/runs.h"

namespace atalaya::phases {

// Known phases, with statistics over their runs.
std::string phases_table(const PhaseDatabase &database, const std::vector<ProgramRun> &runs);
// The phases of each run in order.
std::string runs_table(const std::vector<ProgramRun> &runs);
// The models and their quality.
std::string models_table(const Models &models, const std::string &process);
// The phases of a run in order, and the next one if the models have it.
std::vector<Observation> predictable(const ProgramRun &run, const Models &models);
// The predicted and the measured values of each phase of a run, and the predicted ones of the next phase.
std::string predictions_table(const ProgramRun &run, const Models &models);

// An amount with the name and the unit of its target, such as "CPU 3.1 core-s".
std::string amount_text(double value, Target target);
std::string time_of_run(const ProgramRun &run);
// Adds statistics over the runs to the phases: time, resources, preceding phases. Used for exports.
void add_statistics(PhaseDatabase &database, const std::vector<ProgramRun> &runs);
// The functions with the largest shares in the phase; `maximum`: their maximum number.
std::vector<std::string> top_functions(const KnownPhase &phase, const Symbols &symbols, size_t maximum);

}  // namespace atalaya::phases
