// SPDX-License-Identifier: Apache-2.0
// Shell completion: the possible values of the last word of a command line, from the table of commands. The shells run `atalaya
// complete`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/cli/cli.h"

namespace atalaya::core::cli {

enum class Values {
  none,
  words,  // of a list
  options,
  files,
  pipelines,   // files, bundled ones too
  stores,      // files
  sources,     // components
  components,  // of one component kind
  metrics,
  processes,
  hosts,
  experiments,
  tag_keys,
  tag_key,     // followed by '='
  tag_values,  // of one key
};

// The word at the cursor.
struct Position {
  Values values = Values::none;
  std::string words;                // of Values::words: "start|end"
  std::string key;                  // of Values::tag_values
  std::string begin;                // the part of the word before the value: "--metric=", "host,", "process="
  std::string value;                // the typed start of the value
  std::vector<std::string> stores;  // the values of --store in the command line
};

// The position in a command line. `words` follow the command's name; the last one is at the cursor and may be empty.
Position position_of(const Command &command, const std::vector<std::string> &words);

// The completion function of a shell, which runs `atalaya complete`.
std::string_view bash_completion();
std::string_view zsh_completion();
std::string_view fish_completion();

}  // namespace atalaya::core::cli
