// SPDX-License-Identifier: Apache-2.0
// The built-in commands and the commands of plugins.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cli/cli.h"
#include "core/cli/help/help_pages.h"
#include "core/cli/plugin_commands.h"

namespace atalaya::core::cli {

// The built-in command with this name, or null.
const Command *built_in(std::string_view name);
std::vector<std::string> built_in_names();

// The commands of plugins. Reads --plugins from the command line before the command is known, because the option names a folder
// with commands.
PluginCommands plugin_commands(const std::vector<std::string> &words);
// The option --plugins in a command line, as `--plugins DIR` or `--plugins=DIR`.
Arguments plugin_folder(const std::vector<std::string> &words);

// All commands in the order of the overview. Opens every plugin that has a command; `log_errors` logs plugins that cannot be
// opened. Valid as long as `plugins`.
CommandLine command_line(PluginCommands &plugins, bool log_errors);
// A command line without commands: only the options that every command has.
CommandLine common_options();

// The option of the command, or of all commands, with this name; null for an unknown name.
const OptionSpec *find_option(const Command &command, std::string_view name);
// The names of the command's options and of those that every command has.
std::vector<std::string> option_names(const Command &command);

}  // namespace atalaya::core::cli
