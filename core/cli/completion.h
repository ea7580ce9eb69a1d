// SPDX-License-Identifier: Apache-2.0
// Completion for bash, with the values that the store and the plugins have.
#pragma once

#include <string>

#include "core/cli/help_pages.h"

namespace atalaya::core::cli {

std::string bash_completion(const CommandLine &line);

}  // namespace atalaya::core::cli
