// SPDX-License-Identifier: Apache-2.0
// Converts untrusted bytes (process names, file names) to valid UTF-8 that cannot control a terminal or forge a log line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace atalaya::core {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD, in place of invalid UTF-8

struct CodePoint {
  char32_t value = 0;
  size_t size = 0;  // bytes; 0: the text does not start with a valid UTF-8 sequence
};
// The first code point of a non-empty text. Overlong forms, surrogates and values above U+10FFFF are invalid (RFC 3629).
CodePoint first_code_point(std::string_view text);

// Appends the text as one line: control characters as \x0a, C1 controls and bidirectional formatting characters as \u{202e},
// invalid bytes as U+FFFD.
void append_visible(std::string &out, std::string_view text);
std::string visible(std::string_view text);

// The approximate number of terminal columns of valid UTF-8: 0 for combining marks, 2 for East Asian characters and emoji.
size_t display_width(std::string_view text);
// The longest prefix of at most `width` columns; a cut prefix ends with an ellipsis.
std::string cut_to_width(std::string_view text, size_t width);

}  // namespace atalaya::core
