// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "core/cli/cli.h"
#include "core/cli/commands.h"
#include "core/cli/help/help_pages.h"
#include "core/cli/help/help_text.h"
#include "core/cli/plugin_commands.h"
#include "core/cli/version.h"
#include "core/control/agent.h"
#include "core/isolation/launcher/launcher.h"

namespace atalaya::core::cli {
namespace {

void print_overview(FILE *to, PluginCommands plugins) {
  std::fputs(overview_text(command_line(plugins, true)).c_str(), to);
}

// Only commands of plugins share options, so that the help of a built-in one opens no plugin.
void print_help(const Command &command, PluginCommands &plugins) {
  const CommandLine line = built_in(command.name) != nullptr ? common_options() : command_line(plugins, false);
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

// A hint that is a question is printed unchanged.
std::string with_hint(const std::string &text, const std::string &hint) {
  return text.ends_with('?') ? text : text + "; " + hint;
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
    if (option == nullptr) return "unknown option " + in_quotes(name) + did_you_mean(name, option_names(command));
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
  if (const Command *command = built_in(name); command != nullptr) return command;
  if (!plugins.known(name)) {
    std::vector<std::string> known = built_in_names();
    for (std::string &other : plugins.names()) known.push_back(std::move(other));
    const std::string advice = package_advice(ATALAYA_COMMAND, name), near = did_you_mean(name, known);
    const std::string more = !advice.empty() ? " of an installed package" + advice
                             : !near.empty() ? near
                                             : std::string(build_advice());
    std::fprintf(stderr, "atalaya: %s is not a command%s\n", in_quotes(name).c_str(),
                 with_hint(more, "`atalaya help` lists the commands").c_str());
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
  if (built_in(topic) == nullptr && !plugins.known(topic)) return print_page(topic, plugin_commands(words));
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
  PluginCommands plugins = built_in(words[0]) != nullptr ? PluginCommands({}) : plugin_commands(words);
  const Command *found = find_command(words[0], plugins);
  if (found == nullptr) return kWrongUse;
  const Command &command = *found;
  Arguments arguments;
  const std::string wrong = parse(command, {words.begin() + 1, words.end()}, arguments);
  if (!wrong.empty()) {
    std::fprintf(stderr, "atalaya %s: %s\n", words[0].c_str(), with_hint(wrong, "see `atalaya " + words[0] + " --help`").c_str());
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
