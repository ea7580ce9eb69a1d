// SPDX-License-Identifier: Apache-2.0
// Bytes of unknown origin (process names, file names) as text that is valid UTF-8 and cannot act on a terminal or forge a line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace atalaya::core {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD, for bytes that are no UTF-8

struct CodePoint {
  char32_t value = 0;
  size_t size = 0;  // bytes; 0: the text does not begin with a valid UTF-8 sequence
};
// The first code point of a text that is not empty. Overlong forms, surrogates and values past U+10FFFF are not valid.
CodePoint first_code_point(std::string_view text);

// Appends the text with control characters as \x0a, C1 controls and characters that steer the direction of writing as \u{202e}, and
// invalid bytes as U+FFFD. The result is one line.
void append_visible(std::string &out, std::string_view text);
std::string visible(std::string_view text);

// Columns that valid UTF-8 takes on a terminal: 0 for combining marks, 2 for East Asian and emoji, roughly.
size_t display_width(std::string_view text);
// The longest prefix of at most this many columns; a cut prefix ends with an ellipsis.
std::string cut_to_width(std::string_view text, size_t width);

}  // namespace atalaya::core
