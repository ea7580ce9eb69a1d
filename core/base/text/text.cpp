// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/text.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

namespace atalaya::core {

std::string in_quotes(std::string_view text) {
  static constexpr size_t kLongest = 200;
  static constexpr char kHex[] = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      result += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      continue;
    }
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + (text.size() > kLongest ? "...\"" : "\"");
}

std::string number_text(double number) {
  static constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::fabs(number) < kExact && number == std::floor(number)) return std::to_string(static_cast<int64_t>(number));
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof(buffer), number).ptr};
}

bool is_blank(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == 0x7f;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<int64_t> parse_number(std::string_view text) {
  const std::string_view digits = trimmed(text);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(number) : std::nullopt;
}

}  // namespace atalaya::core
