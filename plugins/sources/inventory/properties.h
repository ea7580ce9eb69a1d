// SPDX-License-Identifier: Apache-2.0
// Texts of keys and values. Pure functions on untrusted bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace atalaya::inventory {

inline constexpr size_t kMaxProperties = 20000;  // those beyond are not taken

struct Property {
  std::string key, value;
  bool operator==(const Property &) const = default;
};

// os-release, a JDK's release: lines KEY=value or KEY="value", `#` begins a comment.
std::vector<Property> parse_assignments(std::string_view text);
// spark-defaults.conf, as Java's Properties reads it: the key ends at a blank, `=` or `:`; `#` or `!` begins a comment, `\` at the
// end goes on in the next line and elsewhere takes the next character as it is. A key that is set again has the last value.
std::vector<Property> parse_java_properties(std::string_view text);

}  // namespace atalaya::inventory
