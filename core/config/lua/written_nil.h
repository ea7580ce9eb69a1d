// SPDX-License-Identifier: Apache-2.0
// Finds parameters with the value nil, as in `url = os.getenv("X")` with X unset. A Lua table does not store them, so they are
// found in the text of the constructor call.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/config/description.h"
#include "core/config/lua/lua_tokens.h"
#include "core/plugin/value.h"

namespace atalaya::core {

class WrittenNil {
 public:
  // `texts`: the texts of the evaluated files by path.
  explicit WrittenNil(const std::map<std::string, std::string, std::less<>> &texts) : texts_(texts) {}

  // Adds the parameters that are nil in the call of `constructor` at `where`: members of type nil, with the reason as string.
  void add_to(Value &parameters, std::string_view constructor, const Location &where);

 private:
  const LuaTokens &tokens_of(const std::string &file);

  const std::map<std::string, std::string, std::less<>> &texts_;
  std::map<std::string, LuaTokens, std::less<>> tokens_;
};

}  // namespace atalaya::core
