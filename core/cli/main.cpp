// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/base/suggest.h"
#include "core/cli/cli.h"
#include "core/cli/help_pages.h"
#include "core/cli/help_text.h"
#include "core/cli/plugin_commands.h"
#include "core/cli/version.h"
#include "core/control/agent.h"
#include "core/isolation/launcher.h"

namespace atalaya::core::cli {
namespace {

constexpr std::array<const Command *, 8> kCommands = {&run_command,     &check_command,  &test_command,   &try_command,
                                                      &plugins_command, &status_command, &doctor_command, &spool_command};

constexpr OptionSpec kCommon[] = {
    {"--plugins", "DIR", "Folder that is searched for plugins first"},
    {"--help", "", "Print the help of the command"},
};

// The order of the overview. Commands of other plugins come last.
struct GroupNames {
  std::string_view title;
  std::array<std::string_view, 7> commands;
};
constexpr std::array<GroupNames, 4> kGroups = {{
    {"Collect", {"run", "check", "test", "try"}},
    {"Look", {"query", "plot", "sql", "serve"}},
    {"Analyse", {"report", "flamegraph", "jvms", "graph", "bottleneck", "phases", "place"}},
    {"Manage", {"experiment", "status", "doctor", "plugins", "store", "spool"}},
}};

// --plugins names a folder of commands, so it is read before the command is known.
PluginCommands plugin_commands(const std::vector<std::string> &words) {
  Arguments arguments;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") break;
    if (words[i] == "--plugins" && i + 1 < words.size()) arguments.options["--plugins"] = {words[i + 1]};
    if (words[i].rfind("--plugins=", 0) == 0) arguments.options["--plugins"] = {words[i].substr(words[i].find('=') + 1)};
  }
  return PluginCommands(scan_plugins(arguments));
}

// The commands of all plugins. Opens every plugin that has one; `log_errors` reports those that cannot be opened.
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

// The command line with all commands. Valid as long as `plugins`.
CommandLine command_line(PluginCommands &plugins, bool log_errors) {
  std::vector<const Command *> commands = plugin_rows(plugins, log_errors);
  CommandLine line{{}, shared_options(commands), kCommon};
  commands.insert(commands.begin(), kCommands.begin(), kCommands.end());
  line.groups = groups_of(std::move(commands));
  return line;
}

void print_overview(FILE *to, PluginCommands plugins) {
  std::fputs(overview_text(command_line(plugins, true)).c_str(), to);
}

bool is_built_in(std::string_view name) {
  return std::any_of(kCommands.begin(), kCommands.end(), [&](const Command *command) { return command->name == name; });
}

// Only commands of plugins share options, so that the help of a built-in one opens no plugin.
void print_help(const Command &command, PluginCommands &plugins) {
  const CommandLine line = is_built_in(command.name) ? CommandLine{{}, {}, kCommon} : command_line(plugins, false);
  std::fputs(command_text(command, line).c_str(), stdout);
}

int print_page(const std::string &topic, PluginCommands plugins) {
  const CommandLine line = command_line(plugins, true);
  const std::optional<std::string> page = topic == "options" ? common_options_text(line) : help_page(line, topic);
  if (!page) {
    std::fprintf(stderr, "atalaya help: \"%s\" is neither a command nor one of options, man, bash, zsh, fish\n", topic.c_str());
    return kWrongUse;
  }
  std::fputs(page->c_str(), stdout);
  return kDone;
}

const OptionSpec *find_option(const Command &command, std::string_view name) {
  for (const OptionSpec &option : command.options)
    if (option.name == name) return &option;
  for (const OptionSpec &option : kCommon)
    if (option.name == name) return &option;
  return nullptr;
}

// Reads the words of one command. Returns the error message of a wrong use, or "".
std::string parse(const Command &command, const std::vector<std::string> &words, Arguments &arguments) {
  bool options_ended = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string &word = words[i];
    if (options_ended || word.size() < 2 || word[0] != '-') {
      arguments.positional.push_back(word);
      continue;
    }
    if (word == "--") {
      options_ended = true;
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const OptionSpec *option = find_option(command, name);
    if (option == nullptr) return "unknown option \"" + name + "\"";
    if (!option->repeats && arguments.has(name)) return name + " is given twice";
    if (option->value.empty()) {
      if (equals != std::string::npos) return name + " takes no value";
      arguments.options[name] = {""};
    } else if (equals != std::string::npos) {
      arguments.options[name].push_back(word.substr(equals + 1));
    } else if (i + 1 < words.size()) {
      arguments.options[name].push_back(words[++i]);
    } else {
      return name + " needs a value: " + flag_text(*option);
    }
  }
  if (arguments.has("--help")) return "";
  if (arguments.positional.size() < command.min_operands) return "missing argument: " + std::string(command.operands);
  if (arguments.positional.size() > command.max_operands)
    return "unexpected argument \"" + arguments.positional[command.max_operands] + "\"";
  return "";
}

// The row of a command. Null after an error message.
const Command *find_command(const std::string &name, PluginCommands &plugins) {
  for (const Command *command : kCommands)
    if (command->name == name) return command;
  if (!plugins.known(name)) {
    std::vector<std::string> known = plugins.names();
    for (const Command *command : kCommands) known.emplace_back(command->name);
    const std::string advice = package_advice(ATALAYA_COMMAND, name);
    std::fprintf(stderr, "atalaya: \"%s\" is not a command%s; `atalaya help` lists the commands\n", name.c_str(),
                 advice.empty() ? did_you_mean(name, known).c_str() : (" of an installed package" + advice).c_str());
    return nullptr;
  }
  const auto row = plugins.row(name);
  if (!row) std::fprintf(stderr, "atalaya %s: %s\n", name.c_str(), row.error().c_str());
  return row ? row.value() : nullptr;
}

int help(const std::vector<std::string> &words) {
  if (words.size() < 2 || words[1].starts_with('-')) {
    print_overview(stdout, plugin_commands(words));
    return kDone;
  }
  const std::string &topic = words[1];
  PluginCommands plugins = plugin_commands(words);
  if (!is_built_in(topic) && !plugins.known(topic)) return print_page(topic, plugin_commands(words));
  const Command *command = find_command(topic, plugins);
  if (command == nullptr) return kFailed;
  print_help(*command, plugins);
  return kDone;
}

int dispatch(const std::vector<std::string> &words) {
  if (words.empty()) {
    print_overview(stderr, plugin_commands(words));
    return kWrongUse;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") return help(words);
  if (words[0] == "--version") {
    std::printf("atalaya %s\n", kVersion);
    return kDone;
  }
  PluginCommands plugins = is_built_in(words[0]) ? PluginCommands({}) : plugin_commands(words);
  const Command *found = find_command(words[0], plugins);
  if (found == nullptr) return kWrongUse;
  const Command &command = *found;
  Arguments arguments;
  const std::string wrong = parse(command, {words.begin() + 1, words.end()}, arguments);
  if (!wrong.empty()) {
    std::fprintf(stderr, "atalaya %s: %s; see `atalaya %s --help`\n", words[0].c_str(), wrong.c_str(), words[0].c_str());
    return kWrongUse;
  }
  if (arguments.has("--help")) {
    print_help(command, plugins);
    return kDone;
  }
  return command.run(arguments);
}

}  // namespace
}  // namespace atalaya::core::cli

int main(int argc, char **argv) {
  try {
    if (const int ended = atalaya::core::isolation_main(argc, argv); ended >= 0) return ended;
    const int status = atalaya::core::cli::dispatch({argv + 1, argv + argc});
    // Standard output that cannot be written (full disk, closed pipe) is a failure.
    if (std::fflush(stdout) == 0) return status;
    atalaya::core::cli::end_if_output_is_closed();
    return atalaya::core::cli::kFailed;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "atalaya: %s\n", error.what());
    return atalaya::core::cli::kFailed;
  }
}
