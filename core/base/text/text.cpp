// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/text.h"

#include <charconv>
#include <cmath>
#include <cstdint>

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

std::string lower(std::string_view text) {
  std::string result(text);
  for (char &c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::string_view line_after(std::string_view text, std::string_view label) {
  while (!text.empty())
    if (std::string_view line = cut_at(text, '\n'); skip_prefix(line, label)) return line;
  return {};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (const auto count = std::count(text.begin(), text.end(), separator) + 1; std::ssize(parts) < count;)
    parts.push_back(cut_at(text, separator));
  return parts;
}

std::optional<int64_t> parse_number(std::string_view text) {
  return number_from<int64_t>(trimmed(text));
}

}  // namespace atalaya::core
