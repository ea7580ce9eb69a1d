// SPDX-License-Identifier: Apache-2.0
// Formats the anomalies of a run, with the functions that explain them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/text/json_writer.h"
#include "plugins/shared/analysis/phases/database.h"
#include "plugins/shared/analysis/phases/models/models.h"

namespace atalaya::phases {

// A function with a larger share of a phase's stack frames than in normal runs; shares are from 0 to 1.
struct Rise {
  std::string function;
  double share = 0, normal = 0;
};
// The function with the largest increase. Nothing if all have their normal share or the functions are unknown.
std::optional<Rise> largest_rise(const std::string &process, const Step &step, const PhaseDatabase &database);

// A line for each anomaly of a run, and a line with the function of the largest increase for each of their phases.
std::string anomalies_text(const ProgramRun &run, const std::vector<Anomaly> &anomalies, const PhaseDatabase &database);
std::string verdict_text(const ProgramRun &run, const Verdict &verdict, const PhaseDatabase &database);
// Writes an element of the JSON list of runs.
void write_verdict(core::JsonWriter &json, const ProgramRun &run, size_t normal_runs, const Verdict &verdict,
                   const PhaseDatabase &database);

}  // namespace atalaya::phases
