// SPDX-License-Identifier: Apache-2.0
// The manual page and shell completion, from the tables that --help prints.
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
  std::vector<OptionSpec> shared;     // options that several commands have in the same words, described once
  std::span<const OptionSpec> every;  // options that every command takes beside its own
};

// The option is described with those that commands share.
bool is_common(const OptionSpec &option, const CommandLine &line);
std::vector<std::string_view> lines_of(std::string_view text);
// Of each line "WORD  its meaning" the word and its meaning.
std::vector<std::pair<std::string_view, std::string_view>> meanings_of(std::string_view lines);

// `form`: "man", "bash", "zsh" or "fish"; nothing for another word.
std::optional<std::string> help_page(const CommandLine &line, std::string_view form);

}  // namespace atalaya::core::cli
