// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <string_view>

namespace atalaya::io {

using ByteSet = std::bitset<256>;

// Reads a set from behind its '[': "abc]", "a-z0-9]", "!x]" or "^x]" (all but x), "]x]" (a leading ']' is a member), "[:alpha:]]".
// Returns the position behind the closing ']', or npos when it is not a set. Bytes, not characters.
size_t parse_byte_set(std::string_view pattern, size_t at, ByteSet &set);

}  // namespace atalaya::io
