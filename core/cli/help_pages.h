// SPDX-License-Identifier: Apache-2.0
// The manual page and shell completion, from the tables that --help prints.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/cli/cli.h"

namespace atalaya::core::cli {

struct CommandLine {
  std::span<const Command *const> commands;
  std::span<const OptionSpec> common;  // what every command takes
};

// `form`: "man", "bash", "zsh" or "fish"; nothing for another word.
std::optional<std::string> help_page(const CommandLine &line, std::string_view form);

}  // namespace atalaya::core::cli
