// SPDX-License-Identifier: Apache-2.0
// The obstacles that `run` would meet on this host: folders, permissions and locks. Changes nothing.
#pragma once

#include <string>
#include <vector>

#include "core/config/description.h"

namespace atalaya::core::cli {

// One line each, "FILE:LINE: ...".
std::vector<std::string> run_problems(const FileDescription &file);

}  // namespace atalaya::core::cli
