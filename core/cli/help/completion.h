// SPDX-License-Identifier: Apache-2.0
// Completion: what the word at the end of a command line can be, by the tables of commands. The shells ask `atalaya complete`.
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
  components,  // names in the store follow
  metrics,
  processes,
  hosts,
  experiments,
  tag_keys,
  tag_key,     // with = behind it
  tag_values,  // of one key
};

// The word under the cursor.
struct Position {
  Values values = Values::none;
  std::string words;                // of Values::words: "start|end"
  std::string key;                  // of Values::tag_values
  std::string begin;                // the part of the word in front of the value: "--metric=", "host,", "process="
  std::string value;                // the other part: what the value begins with
  std::vector<std::string> stores;  // of --store in the line
};

// The words after the name of the command; the last one is under the cursor and may be empty.
Position position_of(const Command &command, const std::vector<std::string> &words);

// The function of a shell that asks `atalaya complete`.
std::string_view bash_completion();
std::string_view zsh_completion();
std::string_view fish_completion();

}  // namespace atalaya::core::cli
