// SPDX-License-Identifier: Apache-2.0
// Checks, without changes, whether `run` could start on this host: folders, permissions, locks.
#pragma once

#include <string>
#include <vector>

#include "core/config/description.h"

namespace atalaya::core::cli {

// The problems, one line each: "FILE:LINE: ...".
std::vector<std::string> run_problems(const FileDescription &file);

}  // namespace atalaya::core::cli
