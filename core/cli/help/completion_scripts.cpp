// SPDX-License-Identifier: Apache-2.0
// The shells' functions. `atalaya complete` prints a pattern of files that the shell offers too ("-": none), then one value a line,
// with a summary behind a tab. Names in a store may have any characters: they are inserted quoted, and never expanded.
#include "core/cli/help/completion.h"

namespace atalaya::core::cli {

std::string_view bash_completion() {
  return R"sh(# bash completion for atalaya: `atalaya complete` lists the values.
_atalaya() {
  local IFS=$'\n' piece= joined= before= files= value= words=()
  # The shell splits words at = and : as in --tag KEY=VALUE; $before is the part of the word in front of the last piece.
  for piece in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ ${#words[@]} -gt 0 && ( -n $joined || $piece == [=:]* ) ]]; then
      before=${words[-1]} words[-1]+=$piece
    else
      before= words+=("$piece")
    fi
    joined=
    [[ $piece != *[=:] ]] || joined=yes before=${words[-1]}
  done
  COMPREPLY=()
  {
    IFS= read -r files
    while IFS= read -r value; do
      value=${value%%$'\t'*}
      value=${value#"$before"}
      [[ $files != - ]] || printf -v value %q "$value"
      COMPREPLY+=("$value")
    done
  } < <("${COMP_WORDS[0]/#\~/$HOME}" complete -- "${words[@]//\\/}" 2>/dev/null </dev/null)
  if [[ ${files:--} != - ]]; then
    compopt -o filenames
    piece=${words[-1]#"$before"}
    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -X "!$files" -- "$piece"; compgen -d -- "$piece")
  elif [[ ${COMPREPLY[0]} == *= ]]; then
    compopt -o nospace
  fi
}
complete -F _atalaya atalaya
)sh";
}

std::string_view zsh_completion() {
  return R"sh(#compdef atalaya
# zsh completion for atalaya: `atalaya complete` lists the values.
_atalaya() {
  local -a lines values shown open
  local line tab=$'\t'
  lines=("${(@f)$("${(Q)words[1]/#\~\//$HOME/}" complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}")
  for line in "${(@)lines[2,-1]}"; do
    if [[ $line == *= ]]; then
      open+=("$line")
    else
      values+=("${line%%$tab*}")
      shown+=("${line/$tab/  -- }")
    fi
  done
  [[ ${lines[1]:--} == - ]] || _files -g "${lines[1]}"
  (( $#open == 0 )) || compadd -S '' -a open
  (( $#values == 0 )) || compadd -d shown -a values
}
if [[ $funcstack[1] == _atalaya ]]; then _atalaya "$@"; else compdef _atalaya atalaya; fi
)sh";
}

std::string_view fish_completion() {
  return R"sh(# fish completion for atalaya: `atalaya complete` lists the values.
function __atalaya_complete
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  set -l word (string unescape -- "$current")
  set -l program (string replace -r '^~/' "$HOME/" -- $before[1])
  set -l lines (command $program complete -- $before[2..] "$word" 2>/dev/null </dev/null)
  switch "$lines[1]"
    case - ''
    case '*.*'
      set -l ending (string escape --style=regex -- (string sub -s 2 -- $lines[1]))
      __fish_complete_path "$current" | string match -e -r -- "(/|$ending)(\\t|\$)"
    case '*'
      __fish_complete_path "$current"
  end
  test (count $lines) -lt 2; or printf '%s\n' $lines[2..]
end
complete -c atalaya -f -a '(__atalaya_complete)'
)sh";
}

}  // namespace atalaya::core::cli
