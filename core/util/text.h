// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace atalaya::core {

// The text between double quotes, made safe for one line on a terminal: control characters and quotes escaped, long texts cut.
std::string in_quotes(std::string_view text);

// The shortest decimal that reads back as the same number; whole numbers without an exponent as far as they are exact.
std::string number_text(double number);

}  // namespace atalaya::core
