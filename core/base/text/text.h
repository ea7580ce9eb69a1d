// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace atalaya::core {

// The text between double quotes, made safe for one line on a terminal: control characters and quotes escaped, long texts cut.
std::string in_quotes(std::string_view text);

// The shortest decimal that reads back as the same number; whole numbers without an exponent as far as they are exact.
std::string number_text(double number);

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
// Spaces and control characters.
bool is_blank(char c);
// Without blanks around it.
std::string_view trimmed(std::string_view text);

// A whole number, blanks around it allowed.
std::optional<int64_t> parse_number(std::string_view text);

}  // namespace atalaya::core
