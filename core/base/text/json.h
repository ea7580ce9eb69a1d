// SPDX-License-Identifier: Apache-2.0
// Append JSON values to a text, without other allocations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace atalaya::core {

// Appends a quoted string that is valid JSON for any bytes: invalid UTF-8 is replaced by U+FFFD, control characters are escaped.
void append_json_string(std::string &out, std::string_view text);
void append_integer(std::string &out, int64_t value);
// Appends the shortest decimal that parses to the same double. The value must be finite.
void append_number(std::string &out, double value);
// As append_number, with a point or an exponent: 5.0, 1e+22. Readers cannot take it for an integer.
void append_real(std::string &out, double value);
// Appends the value with two decimals, as BDWatchdog writes values: 99.40.
void append_two_decimals(std::string &out, double value);

}  // namespace atalaya::core
