// SPDX-License-Identifier: Apache-2.0
// The text of a Lua file that compiles, as names, strings and single characters: for what a checked file says and its values do
// not show.
#pragma once

#include <string_view>
#include <vector>

namespace atalaya::core {

struct LuaToken {
  enum class Type { name, string, other };
  Type type = Type::other;
  std::string_view text;  // of a string: its content
  int line = 0;
};
using LuaTokens = std::vector<LuaToken>;

// Without comments. The text outlives the tokens.
LuaTokens lua_tokens(std::string_view text);

// The token is this name or character.
bool is(const LuaTokens &tokens, size_t at, std::string_view text);
bool is_string(const LuaTokens &tokens, size_t at);
// The change of nesting at a token: brackets, and blocks of functions and loops.
int nesting(const LuaToken &token);

}  // namespace atalaya::core
