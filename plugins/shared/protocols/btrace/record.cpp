// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/btrace/record.h"

#include <cmath>

#include "core/base/text/text.h"

namespace atalaya::btrace {

std::optional<int64_t> parse_integer(std::string_view text) {
  return core::number_from<int64_t>(text);
}

std::optional<Number> parse_number(std::string_view text) {
  if (const auto integer = parse_integer(text)) return count_of(*integer);
  const auto number = core::number_from<double>(text);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return Number{false, 0, *number};
}

}  // namespace atalaya::btrace
