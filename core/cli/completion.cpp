// SPDX-License-Identifier: Apache-2.0
#include "core/cli/completion.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace atalaya::core::cli {
namespace {

// Names in a store may have any characters: they are never expanded (as compgen -W does), and inserted quoted. A store that does
// not reply costs the shell two seconds.
constexpr std::string_view kFunctions = R"sh(# The values of a kind, one a line.
_atalaya_values() {
  local -a store=()
  local i seconds=${ATALAYA_COMPLETION_TIMEOUT:-2}
  for ((i = 2; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} != --store ]] || store=(--store "${COMP_WORDS[i + 1]}")
  done
  case $1 in
    metrics | processes | tags) set -- "$@" --limit 10000 --timeout "${seconds}s" ;;
    experiments) set -- experiment list ;;
    components) store=(); set -- plugins ;;
    *) return ;;
  esac
  timeout -k 1 "$seconds" "${COMP_WORDS[0]/#\~/$HOME}" "$@" "${store[@]}" --format json 2>/dev/null </dev/null
}

# The values of a member in an array of JSON objects that match a pattern; a name with characters that JSON escapes is left out.
_atalaya_member() {
  sed 's/},{/},\n{/g' | sed -n '/'"${2:-.}"'/s/.*[[{,]"'"$1"'":"\([^"\\]*\)".*/\1/p' | sort -u
}

# Offers the lines of standard input that begin with the word; $1 stays in front of them.
_atalaya_offer() {
  local value
  compopt +o filenames
  while IFS= read -r value; do
    [[ $value != "$word"* || -z $value ]] || COMPREPLY+=("$1$(printf %q "$value")")
  done
}

# Pipeline files: those here, and bundled ones by name.
_atalaya_pipelines() {
  local file binary
  COMPREPLY=($(compgen -f -X '!*.lua' -- "$word") $(compgen -d -- "$word"))
  binary=$(type -P "${COMP_WORDS[0]/#\~/$HOME}") || return
  [[ $word == */* ]] || for file in "${binary%/*}"/../share/atalaya/pipelines/"$word"*.lua; do
    [[ ! -e $file ]] || COMPREPLY+=("$(readlink -f "$file")")
  done
}

_atalaya_words() {
  COMPREPLY=($(IFS=' ' && compgen -W "$1" -- "$word"))
}

_atalaya_value() {
  local rest
  case $1 in
    metrics) _atalaya_offer "" < <(_atalaya_values metrics | _atalaya_member metric) ;;
    processes) _atalaya_offer "" < <(_atalaya_values processes | _atalaya_member process) ;;
    hosts) _atalaya_offer "" < <(_atalaya_values tags host | _atalaya_member host) ;;
    experiments) _atalaya_offer "" < <(_atalaya_values experiments | _atalaya_member experiment) ;;
    sources) _atalaya_offer "" < <(_atalaya_values components | _atalaya_member name '"kind":"source"') ;;
    components) _atalaya_offer "" < <(_atalaya_values components | _atalaya_member name) ;;
    keys)
      rest=${word%"${word##*,}"} word=${word##*,}
      _atalaya_offer "$rest" < <(_atalaya_values tags | _atalaya_member tag)
      ;;
    tag)
      if [[ -n $key ]]; then
        _atalaya_offer "" < <(_atalaya_values tags "$key" | _atalaya_member "$key")
      else
        _atalaya_offer "" < <(_atalaya_values tags | _atalaya_member tag)
        COMPREPLY=("${COMPREPLY[@]/%/=}")
        compopt -o nospace
      fi
      ;;
    pipelines) _atalaya_pipelines ;;
    store) COMPREPLY=($(compgen -f -X '!*.db' -- "$word") $(compgen -d -- "$word")) ;;
    files) COMPREPLY=($(compgen -f -- "$word")) ;;
    =*) _atalaya_words "${1//[=|]/ }" ;;
  esac
}

_atalaya() {
  local IFS=$'\n' word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} equals= key= options= values= operand= verbs= pair
  COMPREPLY=()
  # The shell splits words at =, as in --tag KEY=VALUE and --metric=NAME.
  [[ $option != = ]] || equals=$((COMP_CWORD - 1))
  [[ $word != = ]] || { equals=$COMP_CWORD; word=; }
  if [[ -n $equals ]]; then
    option=${COMP_WORDS[equals - 1]}
    [[ $option == -* ]] || { key=$option; option=${COMP_WORDS[equals - 2]}; }
  fi
)sh";

constexpr std::string_view kEnd = R"sh(  local -a pairs
  IFS=' ' read -r -a pairs <<<"$values"
  for pair in "${pairs[@]}"; do
    [[ $pair != "$option:"* ]] || { _atalaya_value "${pair#*:}"; return; }
  done
  if [[ $word == -* ]]; then
    _atalaya_words "$options"
  elif [[ -n $verbs && $COMP_CWORD -eq 2 ]]; then
    _atalaya_value "$verbs"
  else
    _atalaya_value "$operand"
  fi
}
complete -o filenames -F _atalaya atalaya
)sh";

// What an option takes: a kind of _atalaya_value, or "=a|b" for words.
std::string kind_of(const OptionSpec &option) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kByName = {{
      {"--metric", "metrics"},
      {"--process", "processes"},
      {"--host", "hosts"},
      {"--tag", "tag"},
      {"--group-by", "keys"},
      {"--experiment", "experiments"},
      {"--train-experiment", "experiments"},
      {"--against", "experiments"},
      {"--store", "store"},
  }};
  for (const auto &[name, kind] : kByName)
    if (option.name == name) return std::string(kind);
  static constexpr std::string_view kWordLetters = "abcdefghijklmnopqrstuvwxyz0123456789|-";
  const bool words =
      option.value.find('|') != std::string_view::npos && option.value.find_first_not_of(kWordLetters) == std::string_view::npos;
  if (words) return "=" + std::string(option.value);
  for (const std::string_view file : {"FILE", "PATH", "DIR"})
    if (option.value.find(file) != std::string_view::npos) return "files";
  return "none";
}

std::string operand_of(const Command &command) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kByName = {{
      {"run", "pipelines"},
      {"check", "pipelines"},
      {"test", "pipelines"},
      {"try", "sources"},
      {"plugins", "components"},
      {"metrics", "metrics"},
      {"processes", "processes"},
      {"tags", "keys"},
      {"experiment", "experiments"},
      {"report", "experiments"},
  }};
  for (const auto &[name, kind] : kByName)
    if (command.name == name) return std::string(kind);
  return command.operands.empty() ? "none" : "files";
}

// The verbs in "start|end|show NAME | list", or nothing.
std::string verbs_of(std::string_view operands) {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz|";
  std::string verbs;
  while (!operands.empty()) {
    const std::string_view part = operands.substr(0, operands.find(' '));
    if (part.size() > 1 && part.find_first_not_of(kLetters) == std::string_view::npos)
      verbs += (verbs.empty() ? "=" : "|") + std::string(part);
    operands.remove_prefix(std::min(part.size() + 1, operands.size()));
  }
  return verbs;
}

std::string spaced(const std::string &list, std::string_view word) {
  return list + (list.empty() ? "" : " ") + std::string(word);
}

// The row of a command: its options, what each takes, and what its operands are.
std::string row_of(const Command &command, std::span<const OptionSpec> every) {
  std::string names;
  std::string values;
  for (const auto &options : {command.options, every}) {
    for (const OptionSpec &option : options) {
      names = spaced(names, option.name);
      if (!option.value.empty()) values = spaced(values, std::string(option.name) + ":" + kind_of(option));
    }
  }
  const std::string verbs = verbs_of(command.operands);
  return "    " + std::string(command.name) + ") options='" + names + "' values='" + values + "' operand='" + operand_of(command) +
         "'" + (verbs.empty() ? "" : " verbs='" + verbs + "'") + " ;;\n";
}

}  // namespace

std::string bash_completion(const CommandLine &line) {
  std::string commands;
  std::string rows;
  for (const CommandGroup &group : line.groups) {
    for (const Command *command : group.commands) {
      commands = spaced(commands, command->name);
      rows += row_of(*command, line.every);
    }
  }
  return std::string(kFunctions) + "  if ((COMP_CWORD == 1)); then\n    _atalaya_words \"" + commands +
         " --help --version\"\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n" + rows + "  esac\n" + std::string(kEnd);
}

}  // namespace atalaya::core::cli
