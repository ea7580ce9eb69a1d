// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

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

// ASCII letters in lower case.
std::string lower(std::string_view text);
// Whether the text has only digits, at least one.
bool is_digits(std::string_view text);

// Returns the text up to the separator, or all of it, and removes both from `text`.
constexpr std::string_view cut_at(std::string_view &text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}
// Removes the prefix `beginning`. False if the text does not start with it.
constexpr bool skip_prefix(std::string_view &text, std::string_view beginning) {
  const bool found = text.starts_with(beginning);
  if (found) text.remove_prefix(beginning.size());
  return found;
}
// The rest of the first line that begins with `label`, or "".
std::string_view line_after(std::string_view text, std::string_view label);
// The parts between the separators: one more than there are separators.
std::vector<std::string_view> split(std::string_view text, char separator);
template <class List>
std::string joined(const List &texts, std::string_view separator = ", ") {
  std::string all;
  for (const auto &text : texts) all.append(&text == &*std::begin(texts) ? "" : separator).append(text);
  return all;
}

// Parses the complete text as a number; blanks and a leading plus are not allowed.
template <class Number, class... Form>
std::optional<Number> number_from(std::string_view text, Form... form) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, form...);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}
// Parses an integer, also with blanks around it.
std::optional<int64_t> parse_number(std::string_view text);

}  // namespace atalaya::core
