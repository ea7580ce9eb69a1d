// SPDX-License-Identifier: Apache-2.0
#include "core/cli/help/help_pages.h"

#include <algorithm>
#include <cctype>

#include "core/base/text/text.h"
#include "core/cli/help/completion.h"
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
  for (const auto &[word, meaning] : meanings_of(command.meanings)) page += ".TP\n.B " + troff(word) + "\n" + troff(meaning) + "\n";
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
    page += ".SH \"COMMANDS: " + upper(group.title) + "\"\n";
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

}  // namespace

bool is_common(const OptionSpec &option, const CommandLine &line) {
  return std::find(line.shared.begin(), line.shared.end(), option) != line.shared.end();
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) lines.push_back(cut_at(text, '\n'));
  return lines;
}

std::vector<std::pair<std::string_view, std::string_view>> meanings_of(std::string_view lines) {
  std::vector<std::pair<std::string_view, std::string_view>> found;
  for (const std::string_view line : lines_of(lines)) {
    const size_t end = std::min(line.find("  "), line.size());
    found.emplace_back(line.substr(0, end), line.substr(std::min(end + 2, line.size())));
  }
  return found;
}

std::optional<std::string> help_page(const CommandLine &line, std::string_view form) {
  if (form == "man") return man(line);
  if (form == "bash") return std::string(bash_completion());
  if (form == "zsh") return std::string(zsh_completion());
  if (form == "fish") return std::string(fish_completion());
  return std::nullopt;
}

}  // namespace atalaya::core::cli
