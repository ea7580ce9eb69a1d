// SPDX-License-Identifier: Apache-2.0
// Numbers in texts of senders.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace atalaya::protocols {

// Parses the complete text, or returns nothing. A sign '+' is allowed, as in OpenTSDB.
std::optional<int64_t> parse_integer(std::string_view text);
std::optional<uint64_t> parse_unsigned(std::string_view text);
// Parses the complete text as a double. Too large numbers become infinite.
std::optional<double> parse_real(std::string_view text);

}  // namespace atalaya::protocols
