// SPDX-License-Identifier: Apache-2.0
// Draws a run as SVG: its resources over time, lines where their level changes, braces for its phases, and the main functions of
// each phase below.
#pragma once

#include <string>

#include "plugins/commands/phases/learn.h"

namespace atalaya::phases {

std::string picture_of(const LearnedRun &run, const PhaseDatabase &database);

}  // namespace atalaya::phases
