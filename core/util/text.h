// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace atalaya::core {

// The text between double quotes, made safe for one line on a terminal: control characters and quotes escaped, long texts cut.
std::string in_quotes(std::string_view text);

}  // namespace atalaya::core
