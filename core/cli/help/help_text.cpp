// SPDX-License-Identifier: Apache-2.0
#include "core/cli/help/help_text.h"

#include <algorithm>

namespace atalaya::core::cli {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kNameColumn = 14, kOptionColumn = 26, kHelpColumn = 34;

// The words of a text in lines of at most kWidth columns. The first line begins in column `indent`; the others are indented to it.
std::string wrapped(std::string_view text, size_t indent) {
  std::string out;
  size_t column = indent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (column > indent && column + 1 + word.size() > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return out;
}

// Breaks a name with more choices than fit into a line behind one of them.
std::string broken(std::string name) {
  const size_t indent = name.find(' ') + 1;
  for (size_t line = 0; name.size() - line + 2 > kWidth;) {
    const size_t at = name.rfind('|', line + kWidth - 3);
    if (at == std::string::npos || at <= line) break;
    name.insert(at + 1, "\n" + std::string(indent + 2, ' '));
    line = at + 2;
  }
  return name;
}

// "  name   summary". The summary of a name that is longer than its column begins on the next line.
std::string row(const std::string &name, size_t column, std::string_view summary) {
  std::string text = "  " + broken(name);
  if (text.size() < column)
    text.resize(column, ' ');
  else
    text += "\n" + std::string(column, ' ');
  return text + wrapped(summary, column) + "\n";
}

std::string usage(const Command &command) {
  std::string words = "atalaya " + std::string(command.name);
  for (const OptionSpec &option : command.options)
    if (option.required) words += " " + flag_text(option) + (option.repeats ? "..." : "");
  words += " [options]";
  if (!command.operands.empty()) words += " " + std::string(command.operands);
  return "usage: " + wrapped(words, 7) + "\n";
}

std::string meanings(std::string_view lines) {
  std::string text = lines.empty() ? "" : "\nArguments:\n";
  for (const auto &[word, meaning] : meanings_of(lines)) text += row(std::string(word), kNameColumn, meaning);
  return text;
}

std::string examples(std::string_view lines) {
  if (lines.empty()) return "";
  std::string text = lines.find('\n') == std::string_view::npos ? "\nExample:\n" : "\nExamples:\n";
  for (const std::string_view line : lines_of(lines)) text += "  " + std::string(line) + "\n";
  return text;
}

}  // namespace

std::string flag_text(const OptionSpec &option) {
  return std::string(option.name) + (option.value.empty() ? "" : " " + std::string(option.value));
}

std::string overview_text(const CommandLine &line) {
  std::string text = "usage: atalaya COMMAND [options]\n\nMeasures what the processes of a host use and do.\n";
  for (const CommandGroup &group : line.groups) {
    text += "\n" + std::string(group.title) + "\n";
    for (const Command *command : group.commands) text += row(std::string(command->name), kNameColumn, command->summary);
  }
  text += "\nHelp\n";
  text += row("atalaya COMMAND --help", kHelpColumn, "Options and examples of a command");
  text += row("atalaya help options", kHelpColumn, "Options that several commands share");
  text += row("atalaya help man|bash|zsh|fish", kHelpColumn, "Manual page, or completion for a shell");
  return text + row("atalaya --version", kHelpColumn, "Version");
}

std::string command_text(const Command &command, const CommandLine &line) {
  std::string text = usage(command) + "\n" + wrapped(command.summary, 0) + "\n" + meanings(command.meanings), own, common;
  for (const OptionSpec &option : command.options) {
    if (is_common(option, line))
      common += std::string(option.name) + ", ";
    else
      own += row(flag_text(option), kOptionColumn, option.summary);
  }
  for (const OptionSpec &option : line.every) common += std::string(option.name) + ", ";
  common.resize(common.size() - 2);
  if (!own.empty()) text += "\nOptions:\n" + own;
  text += "\nCommon options (see `atalaya help options`):\n  " + wrapped(common, 2) + "\n";
  return text + examples(command.example);
}

std::string common_options_text(const CommandLine &line) {
  std::string text = "Options that several commands share; `atalaya COMMAND --help` lists the others.\n\n";
  for (const OptionSpec &option : line.shared) text += row(flag_text(option), kOptionColumn, option.summary);
  for (const OptionSpec &option : line.every) text += row(flag_text(option), kOptionColumn, option.summary);
  return text;
}

}  // namespace atalaya::core::cli
