// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/base/numbers.h"

#include <charconv>
#include <cstdlib>
#include <string>

#include "core/base/text/text.h"

namespace atalaya::protocols {

namespace {

template <class Integer>
std::optional<Integer> parse(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return core::number_from<Integer>(text);
}

}  // namespace

std::optional<int64_t> parse_integer(std::string_view text) {
  return parse<int64_t>(text);
}

std::optional<uint64_t> parse_unsigned(std::string_view text) {
  return parse<uint64_t>(text);
}

std::optional<double> parse_real(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const char *const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  // from_chars does not distinguish overflow and underflow.
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(text).c_str(), nullptr);
  return value;
}

}  // namespace atalaya::protocols
