// SPDX-License-Identifier: Apache-2.0
// Formats results as JSON, for scripts. Times are milliseconds since 1970; amounts have the units of kTargetUnits; unknown values
// are null.
#pragma once

#include <string>
#include <vector>

#include "core/base/text/json_writer.h"
#include "plugins/shared/analysis/phases/database.h"
#include "plugins/shared/analysis/phases/models/models.h"

namespace atalaya::phases {

// {"phases": [...], "runs": [...]}: known phases, and the phases of each run in order.
std::string phases_json(const PhaseDatabase &database, const std::vector<ProgramRun> &runs);
// Writes an element of the list of programs: the program and its models.
void write_models(core::JsonWriter &json, const std::string &process, size_t runs, const Models &models);
// Writes an element of the list of runs: the predicted and the measured values of each phase, and the predicted ones of the next
// phase.
void write_predictions(core::JsonWriter &json, const ProgramRun &run, size_t normal_runs, const Models &models);
// Opens an object with the fields that identify a run.
core::JsonWriter &open_run(core::JsonWriter &json, const ProgramRun &run);

}  // namespace atalaya::phases
