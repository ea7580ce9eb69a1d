// SPDX-License-Identifier: Apache-2.0
#include "core/cli/help_pages.h"

#include <algorithm>
#include <cctype>

#include "core/cli/completion.h"
#include "core/cli/version.h"

namespace atalaya::core::cli {
namespace {

// Text in a manual page, with troff's control characters escaped.
std::string troff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && out.empty())
      out += "\\&" + std::string(1, c);
    else
      out += c;
  }
  return out;
}

// In single quotes for a shell.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

bool takes_file(const Command &command) {
  return command.operands.find("FILE") != std::string_view::npos || command.operands.find("DIR") != std::string_view::npos;
}

void append_option(std::string &page, const OptionSpec &option) {
  page += ".TP\n.B " + troff(option.name);
  if (!option.value.empty()) page += " \\fI" + troff(option.value) + "\\fR";
  page += "\n" + troff(option.summary) + "\n";
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

void append_command(std::string &page, const Command &command, const CommandLine &line) {
  page += ".SS \"" + troff(command.name) + (command.operands.empty() ? "" : " " + troff(command.operands)) + "\"\n" +
          troff(command.summary) + "\n";
  std::string common;
  for (const OptionSpec &option : command.options) {
    if (is_common(option, line))
      common += (common.empty() ? "" : ", ") + troff(option.name);
    else
      append_option(page, option);
  }
  if (!common.empty()) page += ".PP\nCommon options: " + common + ".\n";
  page += ".PP\nExamples:\n.PP\n.RS\n.nf\n";
  for (const std::string_view example : lines_of(command.example)) page += troff(example) + "\n";
  page += ".fi\n.RE\n";
}

std::string man(const CommandLine &line) {
  std::string page = ".\\\" SPDX-License-Identifier: Apache-2.0\n.TH ATALAYA 1 \"\" \"atalaya " + std::string(kVersion) +
                     "\" \"User Commands\"\n.SH NAME\natalaya \\- measure what the processes of a host use and do\n"
                     ".SH SYNOPSIS\n.B atalaya\n.I COMMAND\n\\&[options] ...\n.SH DESCRIPTION\n"
                     "Loads plugins and connects them in pipelines that are written in Lua: sources, translators, filters, sinks.\n"
                     "Results go to standard output, everything else to standard error.\n";
  for (const CommandGroup &group : line.groups) {
    page += ".SH \"" + upper(group.title) + " COMMANDS\"\n";
    for (const Command *command : group.commands) append_command(page, *command, line);
  }
  page += ".SH COMMON OPTIONS\n";
  for (const OptionSpec &option : line.shared) append_option(page, option);
  for (const OptionSpec &option : line.every) append_option(page, option);
  page +=
      ".SH EXIT STATUS\n0 done, 1 failed, 2 wrong use.\n"
      ".SH ENVIRONMENT\n.TP\n.B ATALAYA_PLUGINS\nfolders of plugins, searched first\n"
      ".TP\n.B STATE_DIRECTORY\\fR, \\fBRUNTIME_DIRECTORY\nfolders of the agent's data and of its socket\n"
      ".TP\n.B ATALAYA_STORE\nthe store: a database file, or clickhouse:http://HOST:8123/DATABASE\n"
      ".SH FILES\n.TP\n.I /etc/atalaya/atalaya.lua\npipelines of the service\n"
      ".TP\n.I /usr/share/atalaya/pipelines\nbundled pipelines\n"
      ".TP\n.I /usr/share/atalaya/drop\\-ins\ndrop\\-ins of atalaya.service, one for each feature that needs capabilities\n";
  return page;
}

// The commands of all groups.
std::vector<const Command *> commands_of(const CommandLine &line) {
  std::vector<const Command *> commands;
  for (const CommandGroup &group : line.groups) commands.insert(commands.end(), group.commands.begin(), group.commands.end());
  return commands;
}

// Escapes the characters that separate the parts of a zsh specification.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) out += (c == '[' || c == ']' || c == ':' || c == '\\' ? "\\" : "") + std::string(1, c);
  return out;
}

std::string zsh(const CommandLine &line) {
  std::string page = "#compdef atalaya\n# zsh completion for atalaya\nlocal -a commands\ncommands=(\n";
  for (const Command *command : commands_of(line))
    page += "  " + quoted(std::string(command->name) + ":" + zsh_text(command->summary)) + "\n";
  page += ")\nif (( CURRENT == 2 )); then\n  _describe command commands\n  return\nfi\ncase $words[2] in\n";
  for (const Command *command : commands_of(line)) {
    page += "  " + std::string(command->name) + ") _arguments";
    const auto add = [&page](const OptionSpec &option) {
      std::string text = (option.repeats ? "*" : "") + std::string(option.name) +
                         (option.value.empty()      ? ""
                          : option.name.size() == 2 ? "+"
                                                    : "=") +
                         "[" + zsh_text(option.summary) + "]";
      if (!option.value.empty()) text += ":" + zsh_text(option.value) + ":_files";
      page += " \\\n    " + quoted(text);
    };
    for (const OptionSpec &option : command->options) add(option);
    for (const OptionSpec &option : line.every) add(option);
    if (takes_file(*command)) page += " \\\n    '*:file:_files'";
    page += " ;;\n";
  }
  return page + "esac\n";
}

std::string fish(const CommandLine &line) {
  std::string page = "# fish completion for atalaya\ncomplete -c atalaya -f\n";
  for (const Command *command : commands_of(line)) {
    const std::string name(command->name);
    page += "complete -c atalaya -n __fish_use_subcommand -a " + name + " -d " + quoted(command->summary) + "\n";
    const std::string within = "complete -c atalaya -n " + quoted("__fish_seen_subcommand_from " + name);
    const auto add = [&](const OptionSpec &option) {
      page += within + (option.name.size() == 2 ? " -s " : " -l ") +
              std::string(option.name.substr(option.name.size() == 2 ? 1 : 2)) + (option.value.empty() ? "" : " -r -F") + " -d " +
              quoted(option.summary) + "\n";
    };
    for (const OptionSpec &option : command->options) add(option);
    for (const OptionSpec &option : line.every) add(option);
    if (takes_file(*command)) page += within + " -F\n";
  }
  return page;
}

}  // namespace

bool is_common(const OptionSpec &option, const CommandLine &line) {
  return std::find(line.shared.begin(), line.shared.end(), option) != line.shared.end();
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

std::optional<std::string> help_page(const CommandLine &line, std::string_view form) {
  if (form == "man") return man(line);
  if (form == "bash") return bash_completion(line);
  if (form == "zsh") return zsh(line);
  if (form == "fish") return fish(line);
  return std::nullopt;
}

}  // namespace atalaya::core::cli
