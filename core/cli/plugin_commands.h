// SPDX-License-Identifier: Apache-2.0
// The commands of plugins in the form of built-in commands: each parameter becomes an option.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/cli/cli.h"
#include "core/plugin/registry.h"

namespace atalaya::core::cli {

class PluginCommands {
 public:
  explicit PluginCommands(Registry registry) : registry_(std::move(registry)) {}

  bool known(std::string_view name) const { return registry_.known(ATALAYA_COMMAND, name); }
  std::vector<std::string> names() const { return registry_.names(ATALAYA_COMMAND); }
  // Opens the plugin of a known command and returns the command. Valid as long as this object.
  Result<const Command *> row(std::string_view name);

 private:
  struct Row {
    Registry::Component component;
    std::string name, operands, meanings, summary, example;
    std::deque<std::string> texts;  // the texts of the options
    std::vector<OptionSpec> options;
    Command command;
  };
  void add_option(Row &row, const atalaya_param &param);

  Registry registry_;
  std::deque<Row> rows_;
};

}  // namespace atalaya::core::cli
