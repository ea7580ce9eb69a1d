// SPDX-License-Identifier: Apache-2.0
// The manual page and shell completion, made from the table of commands.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cli/cli.h"

namespace atalaya::core::cli {

// A heading of the overview and its commands.
struct CommandGroup {
  std::string_view title;
  std::vector<const Command *> commands;
};

struct CommandLine {
  std::vector<CommandGroup> groups;
  std::vector<OptionSpec> shared;     // equal options of several commands, described once
  std::span<const OptionSpec> every;  // options that every command has in addition to its own
};

// Whether the option is described with the options that commands share.
bool is_common(const OptionSpec &option, const CommandLine &line);
std::vector<std::string_view> lines_of(std::string_view text);
// The name and the meaning in each line "NAME  its meaning".
std::vector<std::pair<std::string_view, std::string_view>> meanings_of(std::string_view lines);

// The page in a format: "man", "bash", "zsh" or "fish"; nothing for an unknown format.
std::optional<std::string> help_page(const CommandLine &line, std::string_view form);

}  // namespace atalaya::core::cli
