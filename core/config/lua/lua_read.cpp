// SPDX-License-Identifier: Apache-2.0
#include "core/config/lua/lua_read.h"

#include <algorithm>
#include <utility>

#include "core/base/text/text.h"
#include "core/config/lua/lua_state.h"

namespace atalaya::core {
namespace {

constexpr int kDeepest = 16;

std::string member_path(const std::string &path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

}  // namespace

Value LuaReader::take(std::vector<Problem> &problems) {
  Value value = read("", 0, problems);
  lua_pop(lua_, 1);
  return value;
}

Value LuaReader::take_table(std::vector<Problem> &problems, std::vector<int> &references) {
  std::vector<Element> elements;
  Value value = read_table("", 0, problems, elements, true);
  lua_pop(lua_, 1);
  for (const auto &element : elements) references.push_back(element.reference);
  return value;
}

Value LuaReader::read(const std::string &path, int depth, std::vector<Problem> &problems) {
  Value value;
  switch (lua_type(lua_, -1)) {
    case LUA_TNIL:
      break;
    case LUA_TBOOLEAN:
      value.type = Value::Type::boolean;
      value.boolean = lua_toboolean(lua_, -1) != 0;
      break;
    case LUA_TNUMBER:
      value.type = lua_isinteger(lua_, -1) != 0 ? Value::Type::integer : Value::Type::number;
      if (value.type == Value::Type::integer) value.integer = lua_tointeger(lua_, -1);
      if (value.type == Value::Type::number) value.number = lua_tonumber(lua_, -1);
      break;
    case LUA_TSTRING:
      value.type = Value::Type::string;
      value.string = string_at(lua_, -1);
      break;
    case LUA_TTABLE: {
      std::vector<Element> elements;
      value = read_table(path, depth, problems, elements, false);
      for (size_t i = 0; i < elements.size(); ++i) {
        if (elements[i].key != static_cast<lua_Integer>(i) + 1) {
          problems.push_back({path, "element " + std::to_string(i + 1) + " of the list is nil"});
          break;
        }
        value.list.push_back(std::move(elements[i].value));
      }
      break;
    }
    case LUA_TFUNCTION:
      value.type = Value::Type::function;
      break;
    default:
      problems.push_back({path, "a source, stage or sink cannot be the value of a parameter"});
      break;
  }
  return value;
}

Value LuaReader::read_table(const std::string &path, int depth, std::vector<Problem> &problems, std::vector<Element> &elements,
                            bool references) {
  Value table;
  table.type = Value::Type::table;
  if (depth >= kDeepest) {
    problems.push_back({path, "tables are nested more than " + std::to_string(kDeepest) + " deep"});
    return table;
  }
  lua_checkstack(lua_, 8);
  lua_pushnil(lua_);
  while (lua_next(lua_, -2) != 0) {
    if (--budget_ == 0) problems.push_back({path, "the file has more values than a pipeline file may have"});
    if (budget_ <= 0) {
      lua_pop(lua_, 2);
      break;
    }
    read_key(path, depth, problems, elements, references, table);
  }
  std::sort(elements.begin(), elements.end(), [](const Element &a, const Element &b) { return a.key < b.key; });
  std::sort(table.map.begin(), table.map.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  return table;
}

// One key and its value, on top of the stack; leaves the key.
void LuaReader::read_key(const std::string &path, int depth, std::vector<Problem> &problems, std::vector<Element> &elements,
                         bool references, Value &table) {
  if (lua_isinteger(lua_, -2) != 0) {
    const lua_Integer key = lua_tointeger(lua_, -2);
    if (references) {
      elements.push_back({key, {}, luaL_ref(lua_, LUA_REGISTRYINDEX)});
      return;
    }
    elements.push_back({key, read(path + "[" + std::to_string(key) + "]", depth + 1, problems), LUA_NOREF});
  } else if (lua_type(lua_, -2) == LUA_TSTRING) {
    const std::string key(string_at(lua_, -2));
    table.map.emplace_back(key, read(member_path(path, key), depth + 1, problems));
  } else {
    problems.push_back({path, std::string("a key is a ") + luaL_typename(lua_, -2) + "; keys are names, or 1, 2, 3 in a list"});
  }
  lua_pop(lua_, 1);
}

Location location_of(const lua_Debug &info, int line) {
  if (info.source[0] != '@' || line <= 0) return {};
  return {info.source + 1, line};
}

}  // namespace atalaya::core
