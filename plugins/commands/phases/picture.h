// SPDX-License-Identifier: Apache-2.0
// A run as a picture: its resources, the changes of their level as lines, its phases as braces, and the code of each phase below.
#pragma once

#include <string>

#include "plugins/commands/phases/learn.h"

namespace atalaya::phases {

std::string picture_of(const LearnedRun &run, const PhaseDatabase &database);

}  // namespace atalaya::phases
