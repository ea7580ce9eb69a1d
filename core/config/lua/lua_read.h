// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lua.hpp>

#include <string>
#include <vector>

#include "core/config/description.h"
#include "core/plugin/value.h"

namespace atalaya::core {

// Reads Lua values into plain data. Only raw access, so that nothing of the file's code runs; bounded in depth and number. The
// state's memory limit is lifted meanwhile, so that nothing raises.
class LuaReader {
 public:
  explicit LuaReader(lua_State *lua) : lua_(lua) {}

  // The value at the top of the stack, which it pops.
  Value take(std::vector<Problem> &problems);
  // The same for a table: its elements stay on the stack's registry as references, by ascending key; the rest is read.
  Value take_table(std::vector<Problem> &problems, std::vector<int> &elements);

 private:
  struct Element {
    lua_Integer key;
    Value value;
    int reference;
  };
  Value read(const std::string &path, int depth, std::vector<Problem> &problems);
  Value read_table(const std::string &path, int depth, std::vector<Problem> &problems, std::vector<Element> &elements,
                   bool references);
  void read_key(const std::string &path, int depth, std::vector<Problem> &problems, std::vector<Element> &elements, bool references,
                Value &table);

  lua_State *lua_;
  int budget_ = 100'000;  // values that one reader takes
};

// "@path" and a line -> a location; line 0 outside of a file.
Location location_of(const lua_Debug &info, int line);

}  // namespace atalaya::core
