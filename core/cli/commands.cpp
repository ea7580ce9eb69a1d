// SPDX-License-Identifier: Apache-2.0
#include "core/cli/commands.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/log.h"

namespace atalaya::core::cli {
namespace {

constexpr std::array<const Command *, 9> kCommands = {&run_command,    &check_command,   &test_command,
                                                      &try_command,    &plugins_command, &status_command,
                                                      &doctor_command, &spool_command,   &complete_command};

constexpr OptionSpec kCommon[] = {
    {"--plugins", "DIR", "Folder that is searched for plugins first"},
    {"--help", "", "Print the help of the command"},
};

// The order of the overview, by the intention of the user. Commands of other plugins come last.
struct GroupNames {
  std::string_view title;
  std::array<std::string_view, 7> commands;
};
constexpr std::array<GroupNames, 5> kGroups = {{
    {"Look", {"top", "query", "plot", "sql", "metrics", "processes", "tags"}},
    {"Find the reason", {"explain", "flamegraph", "bottleneck", "jvms", "graph", "phases", "place"}},
    {"Collect", {"run", "check", "test", "try", "record", "experiment"}},
    {"Share", {"serve", "report", "trace"}},
    {"Manage", {"status", "doctor", "plugins", "store", "spool", "complete"}},
}};

std::vector<const Command *> plugin_rows(PluginCommands &plugins, bool log_errors) {
  std::vector<const Command *> commands;
  for (const std::string &name : plugins.names()) {
    const auto row = plugins.row(name);
    if (row)
      commands.push_back(row.value());
    else if (log_errors)
      log(LogLevel::warning, row.error());
  }
  return commands;
}

// Options that at least three commands have in the same words.
std::vector<OptionSpec> shared_options(const std::vector<const Command *> &commands) {
  static constexpr int kMinCommands = 3;
  std::vector<std::pair<OptionSpec, int>> counts;
  for (const Command *command : commands) {
    for (const OptionSpec &option : command->options) {
      const auto known = std::find_if(counts.begin(), counts.end(), [&](const auto &count) { return count.first == option; });
      if (known == counts.end())
        counts.emplace_back(option, 1);
      else
        ++known->second;
    }
  }
  std::vector<OptionSpec> shared;
  for (const auto &[option, count] : counts)
    if (count >= kMinCommands) shared.push_back(option);
  return shared;
}

std::vector<CommandGroup> groups_of(std::vector<const Command *> commands) {
  std::vector<CommandGroup> groups;
  for (const GroupNames &names : kGroups) {
    CommandGroup &group = groups.emplace_back(CommandGroup{names.title, {}});
    for (const std::string_view name : names.commands) {
      const auto found = std::find_if(commands.begin(), commands.end(), [&](const Command *one) { return one->name == name; });
      if (found == commands.end()) continue;
      group.commands.push_back(*found);
      commands.erase(found);
    }
  }
  if (!commands.empty()) groups.push_back({"Other", std::move(commands)});
  return groups;
}

}  // namespace

const Command *built_in(std::string_view name) {
  const auto found =
      std::find_if(kCommands.begin(), kCommands.end(), [&](const Command *command) { return command->name == name; });
  return found == kCommands.end() ? nullptr : *found;
}

std::vector<std::string> built_in_names() {
  std::vector<std::string> names;
  for (const Command *command : kCommands) names.emplace_back(command->name);
  return names;
}

Arguments plugin_folder(const std::vector<std::string> &words) {
  Arguments arguments;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") break;
    if (words[i] == "--plugins" && i + 1 < words.size()) arguments.options["--plugins"] = {words[i + 1]};
    if (words[i].rfind("--plugins=", 0) == 0) arguments.options["--plugins"] = {words[i].substr(words[i].find('=') + 1)};
  }
  return arguments;
}

PluginCommands plugin_commands(const std::vector<std::string> &words) {
  return PluginCommands(scan_plugins(plugin_folder(words)));
}

CommandLine command_line(PluginCommands &plugins, bool log_errors) {
  std::vector<const Command *> commands = plugin_rows(plugins, log_errors);
  CommandLine line{{}, shared_options(commands), kCommon};
  commands.insert(commands.begin(), kCommands.begin(), kCommands.end());
  line.groups = groups_of(std::move(commands));
  return line;
}

CommandLine common_options() {
  return {{}, {}, kCommon};
}

const OptionSpec *find_option(const Command &command, std::string_view name) {
  for (const OptionSpec &option : command.options)
    if (option.name == name) return &option;
  for (const OptionSpec &option : kCommon)
    if (option.name == name) return &option;
  return nullptr;
}

std::vector<std::string> option_names(const Command &command) {
  std::vector<std::string> names;
  for (const OptionSpec &option : command.options) names.emplace_back(option.name);
  for (const OptionSpec &option : kCommon) names.emplace_back(option.name);
  return names;
}

}  // namespace atalaya::core::cli
