// SPDX-License-Identifier: Apache-2.0
// The command line: one file per command. Each command is a row of one table, the base of parsing, help, manual page and
// completion.
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

// The parsed words after the command's name.
struct Arguments {
  std::vector<std::string> positional;
  std::map<std::string, std::vector<std::string>, std::less<>> options;  // by name, in order; "" for a flag

  bool has(std::string_view name) const { return options.find(name) != options.end(); }
  std::optional<std::string> get(std::string_view name) const {
    const auto found = options.find(name);
    return found == options.end() ? std::nullopt : std::optional(found->second.back());
  }
};

// Results go to standard output, everything else to standard error.
struct Command {
  std::string_view name;
  std::string_view operands;  // "FILE", "COMPONENT [name=value ...]"
  std::string_view summary;   // one line
  std::string_view example;   // command lines that work, one per line
  size_t min_operands, max_operands;
  std::span<const OptionSpec> options;        // in addition to those of every command: --plugins DIR, --help
  std::function<int(const Arguments &)> run;  // exit status
  std::string_view meanings = {};             // of single operands, a line for each: "WORD  its meaning"
};

extern const Command run_command, check_command, test_command, try_command, plugins_command, status_command, doctor_command,
    spool_command, complete_command;

// The plugins of --plugins and the default folders; logs the refused ones.
Registry scan_plugins(const Arguments &arguments);

}  // namespace atalaya::core::cli
