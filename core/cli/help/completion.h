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
  words,  // a fixed list of words
  options,
  files,
  pipelines,   // pipeline files, also bundled ones
  stores,      // store files
  sources,     // components
  components,  // components of one kind
  metrics,
  processes,
  hosts,
  experiments,
  tag_keys,
  tag_key,     // tag keys, each followed by '='
  tag_values,  // the values of one tag key
};

// The word at the cursor.
struct Position {
  Values values = Values::none;
  std::string words;                // for Values::words: "start|end"
  std::string key;                  // the tag key, for Values::tag_values
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
