// SPDX-License-Identifier: Apache-2.0
// Help for the terminal, at most 80 columns wide: the overview, one command, the options that commands share.
#pragma once

#include <string>

#include "core/cli/help/help_pages.h"

namespace atalaya::core::cli {

// "--for TIME"
std::string flag_text(const OptionSpec &option);

std::string overview_text(const CommandLine &line);
std::string command_text(const Command &command, const CommandLine &line);
std::string common_options_text(const CommandLine &line);

}  // namespace atalaya::core::cli
