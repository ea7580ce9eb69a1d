// SPDX-License-Identifier: Apache-2.0
// The tokens of a Lua file that compiles: names, strings, single characters. They show what Lua values lack, such as a written
// `nil`.
#pragma once

#include <string_view>
#include <vector>

namespace atalaya::core {

struct LuaToken {
  enum class Type { name, string, other };
  Type type = Type::other;
  std::string_view text;  // for a string: its content
  int line = 0;
};
using LuaTokens = std::vector<LuaToken>;

// The tokens of a text, without comments. The text must outlive them.
LuaTokens lua_tokens(std::string_view text);

// Whether the token at index `at` is this name or character.
bool is(const LuaTokens &tokens, size_t at, std::string_view text);
bool is_string(const LuaTokens &tokens, size_t at);
// The change of the nesting depth at a token: +1 or -1 for brackets, functions and blocks, else 0.
int nesting(const LuaToken &token);

}  // namespace atalaya::core
