// SPDX-License-Identifier: Apache-2.0
// The names of a pipeline's components in errors, log lines, the ledger and the state folder.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/result.h"
#include "core/config/description.h"

namespace atalaya::core {

// The error `file:line: pipeline "x": source "proc": text`. An empty pipeline name is left out.
Error at_location(const Location &where, const std::string &pipeline, const StageDescription &stage, const std::string &text);

// The label of a component in log lines: `pipeline "x": source "proc"`.
std::string component_label(const std::string &pipeline, const StageDescription &stage);

// The name of a component in the ledger: "1 source proc", "2 function". Positions start at 1.
std::string ledger_name(size_t position, const StageDescription &stage);

// The state folder of a source or a stage. Its name is the kind, the name and, from the second one on, the ordinal among the
// components with the same kind and name, so that other components can be inserted before it. `stage` must be an element of
// `pipeline`.
std::string component_state_dir(const PipelineDescription &pipeline, const StageDescription &stage);

// Whether a component contains samples for longer than one window (ATALAYA_HOLDS).
bool retains_samples(const StageDescription &stage);

}  // namespace atalaya::core
