// SPDX-License-Identifier: Apache-2.0
// The entity of a sample, in the form of the table `entities`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace atalaya::store {

using Tags = std::map<std::string, std::string, std::less<>>;

struct Identity {
  std::optional<std::string_view> host, process, pid_text;
  std::optional<int64_t> pid;  // the number; pid_text for other texts: "7" is the number 7, "007" is a text
  std::string tags;            // the other tags: a JSON object with sorted keys

  // Views of `tags`, which must outlive the identity. The texts must be valid UTF-8.
  static Identity from_tags(const Tags &all);
};

// Readers of SQLite expect valid UTF-8: other bytes become U+FFFD. Returns the text itself when it is valid, else `scratch`.
std::string_view valid_utf8(std::string_view text, std::string &scratch);

}  // namespace atalaya::store
