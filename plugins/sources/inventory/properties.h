// SPDX-License-Identifier: Apache-2.0
// Parses texts of keys and values. Pure functions on untrusted bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace atalaya::inventory {

inline constexpr size_t kMaxProperties = 20000;  // the rest is ignored

struct Property {
  std::string key, value;
  bool operator==(const Property &) const = default;
};

// os-release, a JDK's release: lines KEY=value or KEY="value", `#` begins a comment.
std::vector<Property> parse_assignments(std::string_view text);
// spark-defaults.conf, as Java's Properties reads it: the key ends at a blank, `=` or `:`; `#` or `!` begins a comment, `\` at the
// end continues in the next line and elsewhere escapes the next character. A repeated key has the last value.
std::vector<Property> parse_java_properties(std::string_view text);

}  // namespace atalaya::inventory
