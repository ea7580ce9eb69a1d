// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lua.hpp>

#include <string>
#include <vector>

#include "core/config/description.h"
#include "core/plugin/value.h"

namespace atalaya::core {

// Copies Lua values to plain data, up to a depth and a number of values. Uses raw access only, so that no code of the pipeline
// file runs. The caller must lift the state's memory limit, so that no Lua error is raised.
class LuaReader {
 public:
  explicit LuaReader(lua_State *lua) : lua_(lua) {}

  // Pops the value at the top of the stack and returns its copy.
  Value take(std::vector<Problem> &problems);
  // Pops a table. Its elements 1..n are stored in the Lua registry, and `elements` receives their references by ascending key; the
  // other members are copied.
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
  int budget_ = 100'000;  // values that the reader still accepts
};

// The location of a Lua chunk "@path" and a line; line 0 if the chunk is not a file.
Location location_of(const lua_Debug &info, int line);

}  // namespace atalaya::core
