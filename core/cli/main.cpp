// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "core/cli/cli.h"
#include "core/cli/help_pages.h"
#include "core/cli/version.h"
#include "core/isolation/launcher.h"

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

void print_help(FILE *to, const Command &command) {
  std::string usage = "usage: atalaya " + std::string(command.name);
  if (!command.operands.empty()) usage += " " + std::string(command.operands);
  std::string rows;
  const auto add = [&](const OptionSpec &option) {
    usage += " [" + flag_text(option) + "]";
    std::string flag = "  " + flag_text(option);
    flag.resize(std::max<size_t>(flag.size() + 1, 26), ' ');
    rows += flag + std::string(option.summary) + "\n";
  };
  for (const OptionSpec &option : command.options) add(option);
  for (const OptionSpec &option : kCommon) add(option);
  std::fprintf(to, "%s\n\n%s\n\n%s\nexample: %s\n", usage.c_str(), std::string(command.summary).c_str(), rows.c_str(),
               std::string(command.example).c_str());
}

void print_overview(FILE *to) {
  std::fprintf(to, "usage: atalaya COMMAND ...\n\nWatches what the processes of a host do.\n\n");
  for (const Command *command : kCommands) {
    std::string name = "  " + std::string(command->name) + " " + std::string(command->operands);
    name.resize(std::max<size_t>(name.size() + 1, 38), ' ');
    std::fprintf(to, "%s%s\n", name.c_str(), std::string(command->summary).c_str());
  }
  std::fprintf(to,
               "\n  atalaya COMMAND --help            its options, and an example\n"
               "  atalaya help man|bash|zsh|fish    the manual page, or completion for a shell\n  atalaya --version\n");
}

int print_page(const std::string &form) {
  const auto page = help_page({kCommands, kCommon}, form);
  if (!page) {
    std::fprintf(stderr, "atalaya help: \"%s\" is not one of man, bash, zsh, fish\n", form.c_str());
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
      arguments.options[name] = "";
    } else if (equals != std::string::npos) {
      arguments.options[name] = word.substr(equals + 1);
    } else if (i + 1 < words.size()) {
      arguments.options[name] = words[++i];
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

int dispatch(const std::vector<std::string> &words) {
  if (words.empty()) {
    print_overview(stderr);
    return kWrongUse;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    if (words.size() > 1) return print_page(words[1]);
    print_overview(stdout);
    return kDone;
  }
  if (words[0] == "--version") {
    std::printf("atalaya %s\n", kVersion);
    return kDone;
  }
  const auto found =
      std::find_if(kCommands.begin(), kCommands.end(), [&](const Command *command) { return command->name == words[0]; });
  if (found == kCommands.end()) {
    std::fprintf(stderr, "atalaya: \"%s\" is not a command; atalaya --help lists them\n", words[0].c_str());
    return kWrongUse;
  }
  const Command &command = **found;
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
