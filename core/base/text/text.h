// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace atalaya::core {

// The text in double quotes, as one line for a terminal: control characters and quotes are escaped, long texts are cut.
std::string in_quotes(std::string_view text);

// The shortest decimal that parses to the same number; integers that a double represents exactly have no exponent.
std::string number_text(double number);

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
// Spaces and control characters.
bool is_blank(char c);
// The text without blanks at its start and end.
std::string_view trimmed(std::string_view text);

// Parses an integer, also with blanks around it.
std::optional<int64_t> parse_number(std::string_view text);

}  // namespace atalaya::core
