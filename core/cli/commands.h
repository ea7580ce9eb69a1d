// SPDX-License-Identifier: Apache-2.0
// All commands: those of the binary and those of plugins.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cli/cli.h"
#include "core/cli/help/help_pages.h"
#include "core/cli/plugin_commands.h"

namespace atalaya::core::cli {

// A command of the binary. Null: none has this name.
const Command *built_in(std::string_view name);
std::vector<std::string> built_in_names();

// --plugins names a folder of commands, so it is read before the command is known.
PluginCommands plugin_commands(const std::vector<std::string> &words);
// The option --plugins among these words, in both forms.
Arguments plugin_folder(const std::vector<std::string> &words);

// All commands in the order of the overview. Opens every plugin that has one; `log_errors` reports those that cannot be opened.
// Valid as long as `plugins`.
CommandLine command_line(PluginCommands &plugins, bool log_errors);
// The options of every command alone.
CommandLine common_options();

// An option of the command or of every command. Null: unknown.
const OptionSpec *find_option(const Command &command, std::string_view name);
// The names of both.
std::vector<std::string> option_names(const Command &command);

}  // namespace atalaya::core::cli
