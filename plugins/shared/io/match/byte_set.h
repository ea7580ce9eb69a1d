// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <string_view>

namespace atalaya::io {

using ByteSet = std::bitset<256>;

// Parses a set of bytes, whose '[' is before `at`: "abc]", "a-z0-9]", "!x]" or "^x]" (all but x), "]x]" (a leading ']' is a
// member), "[:alpha:]]". Returns the position after the closing ']'; npos if the text is not a set.
size_t parse_byte_set(std::string_view pattern, size_t at, ByteSet &set);

}  // namespace atalaya::io
