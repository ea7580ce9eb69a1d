// SPDX-License-Identifier: Apache-2.0
// The pieces of JSON, appended to a text. Nothing is allocated beyond the text itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace atalaya::core {

// A quoted string: valid JSON for any bytes. Invalid UTF-8 becomes U+FFFD, control characters are escaped.
void append_json_string(std::string &out, std::string_view text);
void append_integer(std::string &out, int64_t value);
// The shortest decimal that reads back as the same double. The value is finite.
void append_number(std::string &out, double value);
// The same, never to be taken for an integer: 5.0, 1e+22.
void append_real(std::string &out, double value);
// With two decimals, as the reference design writes values: 99.40.
void append_two_decimals(std::string &out, double value);

}  // namespace atalaya::core
