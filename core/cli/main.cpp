// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "core/control/agent.h"
#include "core/cli/cli.h"
#include "core/cli/help_pages.h"
#include "core/cli/plugin_commands.h"
#include "core/cli/version.h"
#include "core/isolation/launcher.h"
#include "core/base/log.h"
#include "core/base/suggest.h"

namespace atalaya::core::cli {
namespace {

constexpr std::array<const Command *, 8> kCommands = {&run_command,     &check_command,  &test_command,   &try_command,
                                                      &plugins_command, &status_command, &doctor_command, &spool_command};

constexpr OptionSpec kCommon[] = {
    {"--plugins", "DIR", "look for plugins there first"},
    {"--help", "", "this text"},
};

std::string flag_text(const OptionSpec &option) {
  return std::string(option.name) + (option.value.empty() ? "" : " " + std::string(option.value));
}

// "  name   summary"; behind a name that is longer than its column the summary has a line of its own.
std::string help_row(const std::string &name, size_t column, std::string_view summary) {
  std::string row = "  " + name;
  if (row.size() < column)
    row.resize(column, ' ');
  else
    row += "\n" + std::string(column, ' ');
  return row + std::string(summary) + "\n";
}

void print_help(FILE *to, const Command &command) {
  std::string usage = "usage: atalaya " + std::string(command.name);
  if (!command.operands.empty()) usage += " " + std::string(command.operands);
  std::string rows;
  const auto add = [&](const OptionSpec &option) {
    usage += " [" + flag_text(option) + "]" + (option.repeats ? "..." : "");
    rows += help_row(flag_text(option), 26, option.summary);
  };
  for (const OptionSpec &option : command.options) add(option);
  for (const OptionSpec &option : kCommon) add(option);
  std::fprintf(to, "%s\n\n%s\n\n%s\nexample: %s\n", usage.c_str(), std::string(command.summary).c_str(), rows.c_str(),
               std::string(command.example).c_str());
}

// --plugins says where commands are, so it is read before the command is known.
PluginCommands plugin_commands(const std::vector<std::string> &words) {
  Arguments arguments;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") break;
    if (words[i] == "--plugins" && i + 1 < words.size()) arguments.options["--plugins"] = {words[i + 1]};
    if (words[i].rfind("--plugins=", 0) == 0) arguments.options["--plugins"] = {words[i].substr(words[i].find('=') + 1)};
  }
  return PluginCommands(scan_plugins(arguments));
}

// All commands; every plugin that offers one is opened.
std::vector<const Command *> all_commands(PluginCommands &plugins) {
  std::vector<const Command *> commands(kCommands.begin(), kCommands.end());
  for (const std::string &name : plugins.names()) {
    const auto row = plugins.row(name);
    if (row) {
      commands.push_back(row.value());
    } else {
      log(LogLevel::warning, row.error());
    }
  }
  return commands;
}

void print_overview(FILE *to, PluginCommands plugins) {
  std::fprintf(to, "usage: atalaya COMMAND ...\n\nWatches what the processes of a host do.\n\n");
  for (const Command *command : all_commands(plugins)) {
    const std::string words = std::string(command->name) + " " + std::string(command->operands);
    std::fputs(help_row(words, 38, command->summary).c_str(), to);
  }
  std::fprintf(to,
               "\n  atalaya COMMAND --help            its options, and an example\n"
               "  atalaya help man|bash|zsh|fish    the manual page, or completion for a shell\n  atalaya --version\n");
}

int print_page(const std::string &form, PluginCommands plugins) {
  const auto commands = all_commands(plugins);
  const auto page = help_page({commands, kCommon}, form);
  if (!page) {
    std::fprintf(stderr, "atalaya help: \"%s\" is neither a command nor one of man, bash, zsh, fish\n", form.c_str());
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

// The words of one command; on wrong use the sentence to print.
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
  if (arguments.positional.size() < command.min_operands) return "needs " + std::string(command.operands);
  if (arguments.positional.size() > command.max_operands)
    return "\"" + arguments.positional[command.max_operands] + "\" is one word too many";
  return "";
}

// The row of a command, or null; said is why.
const Command *find_command(const std::string &name, PluginCommands &plugins) {
  for (const Command *command : kCommands)
    if (command->name == name) return command;
  if (!plugins.known(name)) {
    std::vector<std::string> known = plugins.names();
    for (const Command *command : kCommands) known.emplace_back(command->name);
    std::fprintf(stderr, "atalaya: \"%s\" is not a command%s; atalaya --help lists them\n", name.c_str(),
                 did_you_mean(name, known).c_str());
    return nullptr;
  }
  const auto row = plugins.row(name);
  if (!row) std::fprintf(stderr, "atalaya %s: %s\n", name.c_str(), row.error().c_str());
  return row ? row.value() : nullptr;
}

bool is_built_in(const std::string &name) {
  return std::any_of(kCommands.begin(), kCommands.end(), [&](const Command *command) { return command->name == name; });
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
  print_help(stdout, *command);
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
    std::fprintf(stderr, "atalaya %s: %s; see atalaya %s --help\n", words[0].c_str(), wrong.c_str(), words[0].c_str());
    return kWrongUse;
  }
  if (arguments.has("--help")) {
    print_help(stdout, command);
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
    // A full disk or a closed pipe behind standard output is a failure that the caller has to hear of.
    return std::fflush(stdout) == 0 ? status : atalaya::core::cli::kFailed;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "atalaya: %s\n", error.what());
    return atalaya::core::cli::kFailed;
  }
}
