// SPDX-License-Identifier: Apache-2.0
// Reads literals as ClickHouse does: quoted text has to come back.
#pragma once

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace atalaya::store::clickhouse::testing {

inline std::optional<char> from_hex(std::string_view digits) {
  unsigned value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() != 2 || read.ec != std::errc{} || read.ptr != digits.data() + 2) return std::nullopt;
  return static_cast<char>(value);
}

// The character after a backslash; removes it from the text.
inline std::optional<char> take_escaped(std::string_view &text) {
  constexpr std::array<std::pair<char, char>, 9> kNamed = {
      {{'0', '\0'}, {'a', '\a'}, {'b', '\b'}, {'e', '\x1b'}, {'f', '\f'}, {'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'v', '\v'}}};
  if (text.empty()) return std::nullopt;
  const char letter = text.front();
  text.remove_prefix(1);
  if (letter == 'x') {
    const auto byte = from_hex(text.substr(0, 2));
    if (byte) text.remove_prefix(2);
    return byte;
  }
  if (letter == '\\' || letter == '\'') return letter;
  for (const auto &[name, byte] : kNamed)
    if (name == letter) return byte;
  return std::nullopt;  // versions differ in its meaning
}

// The bytes that a literal means; nothing if the text is not a single literal.
inline std::optional<std::string> unquote(std::string_view literal) {
  if (literal.size() < 2 || literal.front() != '\'' || literal.back() != '\'') return std::nullopt;
  std::string_view rest = literal.substr(1, literal.size() - 2);
  std::string text;
  while (!rest.empty()) {
    const char byte = rest.front();
    rest.remove_prefix(1);
    if (byte == '\'') {  // '' is a quote
      if (rest.empty() || rest.front() != '\'') return std::nullopt;
      rest.remove_prefix(1);
      text += byte;
    } else if (byte == '\\') {
      const auto escaped = take_escaped(rest);
      if (!escaped) return std::nullopt;
      text += *escaped;
    } else {
      text += byte;
    }
  }
  return text;
}

}  // namespace atalaya::store::clickhouse::testing
