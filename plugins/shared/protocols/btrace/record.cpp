// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/btrace/record.h"

#include <charconv>
#include <cmath>

namespace atalaya::btrace {

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Number> parse_number(std::string_view text) {
  if (const auto integer = parse_integer(text)) return count_of(*integer);
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(number))
    return std::nullopt;
  return Number{false, 0, number};
}

}  // namespace atalaya::btrace
