// SPDX-License-Identifier: Apache-2.0
// The table of commands, from which parsing, help, manual page and completion are made. Each command has a source file.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/control/exit_status.h"
#include "core/plugin/registry.h"

namespace atalaya::core::cli {

struct OptionSpec {
  std::string_view name;   // "--for"
  std::string_view value;  // placeholder of its value: "TIME"; "" for a flag
  std::string_view summary;
  bool repeats = false;
  bool required = false;

  bool operator==(const OptionSpec &) const = default;
};

// The parsed command line after the command's name.
struct Arguments {
  std::vector<std::string> positional;
  std::map<std::string, std::vector<std::string>, std::less<>> options;  // by name, in order; "" for a flag

  bool has(std::string_view name) const { return options.find(name) != options.end(); }
  std::optional<std::string> get(std::string_view name) const {
    const auto found = options.find(name);
    return found == options.end() ? std::nullopt : std::optional(found->second.back());
  }
};

// A command prints its results to standard output, all other text to standard error.
struct Command {
  std::string_view name;
  std::string_view operands;  // "FILE", "COMPONENT [name=value ...]"
  std::string_view summary;   // one line
  std::string_view example;   // command lines that work, one per line
  size_t min_operands, max_operands;
  std::span<const OptionSpec> options;        // in addition to those of every command: --plugins DIR, --help
  std::function<int(const Arguments &)> run;  // returns the exit status
  std::string_view meanings = {};             // explains operands, one per line: "NAME  its meaning"
};

extern const Command run_command, check_command, test_command, try_command, plugins_command, status_command, doctor_command,
    spool_command, complete_command;

// Finds the plugins in the folder of --plugins and the default folders; logs those that it refuses.
Registry scan_plugins(const Arguments &arguments);

}  // namespace atalaya::core::cli
