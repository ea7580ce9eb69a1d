// SPDX-License-Identifier: Apache-2.0
// Parses files of keys and values. Pure functions on untrusted bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace atalaya::inventory {

inline constexpr size_t kMaxProperties = 20000;  // further properties are ignored

struct Property {
  std::string key, value;
  bool operator==(const Property &) const = default;
};

// Parses os-release(5) and the file "release" of a JDK: lines KEY=value or KEY="value"; `#` starts a comment.
std::vector<Property> parse_assignments(std::string_view text);
// Parses the format of java.util.Properties, which spark-defaults.conf has: the key ends at a blank, `=` or `:`; `#` or `!` starts
// a comment; `\` at the line end joins the next line, elsewhere it escapes the next character. The last value of a repeated key
// wins.
std::vector<Property> parse_java_properties(std::string_view text);

}  // namespace atalaya::inventory
