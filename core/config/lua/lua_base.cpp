// SPDX-License-Identifier: Apache-2.0
// The base functions of a sandboxed state. Functions that could run long in C, where no hook is called, have limits.
#include <array>
#include <cstring>

#include "core/base/log.h"
#include "core/config/lua/lua_state.h"

namespace atalaya::core {
namespace {

// Written in Lua, because the hook runs there: a table may be long, and __len may lie.
constexpr char kWrittenInLua[] = R"lua(
local function insert(list, ...)
  local count, free = select("#", ...), #list + 1
  if count == 1 then list[free] = ... return end
  if count ~= 2 then error("wrong number of arguments to 'insert'", 2) end
  local position, value = ...
  if position < 1 or position > free then error("bad argument #2 to 'insert' (position out of bounds)", 2) end
  for i = free, position + 1, -1 do list[i] = list[i - 1] end
  list[position] = value
end

local function remove(list, position)
  local size = #list
  position = position or size
  if position ~= size and (position < 1 or position > size + 1) then
    error("bad argument #2 to 'remove' (position out of bounds)", 2)
  end
  local value = list[position]
  for i = position, size - 1 do list[i] = list[i + 1] end
  list[position > size and position or size] = nil
  return value
end

local function move(from, first, last, to, target)
  target = target or from
  if last < first then return target end
  if to > last or to <= first or target ~= from then
    for i = 0, last - first do target[to + i] = from[first + i] end
  else
    for i = last - first, 0, -1 do target[to + i] = from[first + i] end
  end
  return target
end

local function less(x, y) return x < y end

-- Heap sort: never leaves the list, whatever the order function says.
local function sort(list, before)
  before = before or less
  local function sink(root, size)
    local value = list[root]
    while root * 2 <= size do
      local child = root * 2
      if child < size and before(list[child], list[child + 1]) then child = child + 1 end
      if not before(value, list[child]) then break end
      list[root] = list[child]
      root = child
    end
    list[root] = value
  end
  local size = #list
  for root = size // 2, 1, -1 do sink(root, size) end
  for last = size, 2, -1 do
    list[1], list[last] = list[last], list[1]
    sink(1, last - 1)
  end
end

-- The handler runs after the call, not where the error was raised: an error that a hook raises calls its handler with hooks off.
local pcall = pcall
function xpcall(body, handler, ...)
  local function finish(ok, ...)
    if ok then return true, ... end
    return false, handler(...)
  end
  return finish(pcall(body, ...))
end

table.insert, table.remove, table.move, table.sort = insert, remove, move, sort
)lua";

void log_text(const char *text, size_t size) noexcept {
  try {
    log_limited(LogLevel::info, {text, size});
  } catch (const std::bad_alloc &) {
    return;  // a missing line is acceptable
  }
}

int print(lua_State *lua) {
  luaL_Buffer line;
  const int count = lua_gettop(lua);
  luaL_buffinit(lua, &line);
  for (int i = 1; i <= count; ++i) {
    if (i > 1) luaL_addchar(&line, '\t');
    luaL_tolstring(lua, i, nullptr);
    luaL_addvalue(&line);
  }
  luaL_pushresult(&line);
  size_t size = 0;
  const char *text = lua_tolstring(lua, -1, &size);
  log_text(text, size);
  return 0;
}

// The collector runs without hooks: a finalizer that loops could not be stopped, and a chain through a table with weak keys takes
// it quadratic time. A metatable could get these fields after the check, so a private copy of its metamethods takes its place.
constexpr char kGuard[] = "atalaya.guard";  // the metatable of metatables without one
char original_key;                          // its address is the copy's key of its original

bool is_metamethod(lua_State *lua, int index) {
  return lua_type(lua, index) == LUA_TSTRING && std::strncmp(lua_tostring(lua, index), "__", 2) == 0;
}

// A metamethod that is added later would have no effect.
int set_field_of_metatable(lua_State *lua) {
  if (is_metamethod(lua, 2)) return luaL_error(lua, "%s has no effect after setmetatable: set it before", lua_tostring(lua, 2));
  lua_rawset(lua, 1);
  return 0;
}

void guard(lua_State *lua, int metatable) {
  if (lua_getmetatable(lua, metatable) != 0) return lua_pop(lua, 1);
  if (luaL_newmetatable(lua, kGuard) != 0) {
    lua_pushcfunction(lua, set_field_of_metatable);
    lua_setfield(lua, -2, "__newindex");
  }
  lua_setmetatable(lua, metatable);
}

// Pushes the copy.
void copy_metamethods(lua_State *lua, int metatable) {
  uint64_t fields = 0;
  lua_newtable(lua);
  const int copy = lua_gettop(lua);
  for (lua_pushnil(lua); lua_next(lua, metatable) != 0; ++fields) {
    if (is_metamethod(lua, -2)) {
      lua_pushvalue(lua, -2);
      lua_insert(lua, -2);
      lua_rawset(lua, copy);
    } else {
      lua_pop(lua, 1);
    }
  }
  lua_pushvalue(lua, metatable);
  lua_rawsetp(lua, copy, &original_key);
  LuaState::from_lua(lua).charge(fields);
}

int set_metatable(lua_State *lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  if (lua_type(lua, 2) == LUA_TTABLE) {
    lua_settop(lua, 2);
    for (const char *name : {"__gc", "__mode"}) {
      lua_pushstring(lua, name);
      if (lua_rawget(lua, 2) != LUA_TNIL) return luaL_error(lua, "%s is not available in pipeline files", name);
      lua_pop(lua, 1);
    }
    copy_metamethods(lua, 2);
    guard(lua, 2);
    lua_replace(lua, 2);
  }
  return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

int get_metatable(lua_State *lua) {
  lua_tocfunction(lua, lua_upvalueindex(1))(lua);
  if (lua_type(lua, -1) != LUA_TTABLE) return 1;
  luaL_getmetatable(lua, kGuard);
  if (lua_rawequal(lua, -1, -2) != 0) return lua_pushnil(lua), 1;
  lua_pop(lua, 1);
  if (lua_rawgetp(lua, -1, &original_key) == LUA_TNIL) lua_pop(lua, 1);
  return 1;
}

int concat(lua_State *lua) {
  const lua_Integer first = luaL_optinteger(lua, 3, 1);
  const lua_Integer last = lua_isnoneornil(lua, 4) ? luaL_len(lua, 1) : luaL_checkinteger(lua, 4);
  const lua_Unsigned count = first > last ? 0 : static_cast<lua_Unsigned>(last) - static_cast<lua_Unsigned>(first);
  if (count >= LuaLimits::kElements) return luaL_error(lua, "too many elements to concatenate");
  LuaState::from_lua(lua).charge(count);
  lua_settop(lua, 3);
  lua_pushinteger(lua, last);
  return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

// Upvalues: the file's number, its global variables, its modules.
int require(lua_State *lua) {
  const char *name = luaL_checkstring(lua, 1);
  lua_settop(lua, 1);
  lua_pushvalue(lua, lua_upvalueindex(3));
  const int type = lua_getfield(lua, 2, name);
  if (type == LUA_TLIGHTUSERDATA)
    return luaL_error(lua, "module \"%s\" is required while it is being read, or failed before", name);
  if (type != LUA_TNIL) return 1;
  lua_pushlightuserdata(lua, lua);
  lua_setfield(lua, 2, name);
  LuaState::from_lua(lua).load_module(name, static_cast<size_t>(lua_tointeger(lua, lua_upvalueindex(1))));
  lua_pushvalue(lua, lua_upvalueindex(2));
  lua_setupvalue(lua, -5, 1);
  lua_call(lua, 3, 1);
  if (lua_isnil(lua, -1)) {
    lua_pop(lua, 1);
    lua_pushboolean(lua, 1);
  }
  lua_pushvalue(lua, -1);
  lua_setfield(lua, 2, name);
  return 1;
}

int charged(lua_State *lua) {
  uint64_t bytes = 0;
  for (int i = lua_gettop(lua); i > 0; --i)
    if (lua_type(lua, i) == LUA_TSTRING) bytes += lua_rawlen(lua, i);
  LuaState::from_lua(lua).charge(1 + bytes / 4);
  return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

// A name that nobody has set is a mistake, most often a typing error.
int unknown_global(lua_State *lua) {
  return luaL_error(lua, "unknown name \"%s\"", lua_type(lua, 2) == LUA_TSTRING ? lua_tostring(lua, 2) : luaL_typename(lua, 2));
}

void wrap(lua_State *lua, const char *name, lua_CFunction wrapper) {
  lua_getfield(lua, -1, name);
  lua_pushcclosure(lua, wrapper, 1);
  lua_setfield(lua, -2, name);
}

void remove(lua_State *lua, const char *name) {
  lua_pushnil(lua);
  lua_setfield(lua, -2, name);
}

// Pushes a copy of the table at this index.
void copy_table(lua_State *lua, int table) {
  lua_newtable(lua);
  for (lua_pushnil(lua); lua_next(lua, table) != 0;) {
    lua_pushvalue(lua, -2);
    lua_insert(lua, -2);
    lua_rawset(lua, -4);
  }
}

// Of `os` only the functions that read a clock or the environment.
void open_os(lua_State *lua) {
  luaL_requiref(lua, LUA_OSLIBNAME, luaopen_os, 0);
  lua_newtable(lua);
  for (const char *name : {"time", "date", "getenv", "clock"}) {
    lua_getfield(lua, -2, name);
    lua_setfield(lua, -2, name);
  }
  lua_setglobal(lua, LUA_OSLIBNAME);
  lua_pop(lua, 1);
}

}  // namespace

void charge_functions(lua_State *lua) {
  lua_pushnil(lua);
  while (lua_next(lua, -2) != 0) {
    if (lua_iscfunction(lua, -1) != 0) {
      lua_pushcclosure(lua, charged, 1);
      lua_pushvalue(lua, -2);
      lua_insert(lua, -2);
      lua_settable(lua, -4);
    } else {
      lua_pop(lua, 1);
    }
  }
}

// The libraries are copied, too, so that a file that changes one changes its own.
void isolate_globals(lua_State *lua, size_t file) {
  const int function = lua_gettop(lua);
  lua_pushglobaltable(lua);
  copy_table(lua, function + 1);
  const int globals = lua_gettop(lua);
  for (const char *name : {LUA_STRLIBNAME, LUA_TABLIBNAME, LUA_MATHLIBNAME, LUA_UTF8LIBNAME, LUA_OSLIBNAME}) {
    lua_getfield(lua, globals, name);
    copy_table(lua, lua_gettop(lua));
    lua_setfield(lua, globals, name);
    lua_pop(lua, 1);
  }
  lua_pushvalue(lua, globals);
  lua_setfield(lua, globals, LUA_GNAME);
  lua_pushinteger(lua, static_cast<lua_Integer>(file));
  lua_pushvalue(lua, globals);
  lua_newtable(lua);
  lua_pushcclosure(lua, require, 3);
  lua_setfield(lua, globals, "require");
  lua_getmetatable(lua, function + 1);
  lua_setmetatable(lua, globals);
  lua_setupvalue(lua, function, 1);
  lua_settop(lua, function);
}

void open_base_library(lua_State *lua) {
  luaL_requiref(lua, LUA_GNAME, luaopen_base, 1);
  for (const char *name : {"load", "loadfile", "dofile", "collectgarbage", "warn"}) remove(lua, name);
  wrap(lua, "getmetatable", get_metatable);
  wrap(lua, "setmetatable", set_metatable);
  wrap(lua, "tonumber", charged);
  lua_pushcfunction(lua, print);
  lua_setfield(lua, -2, "print");
  lua_createtable(lua, 0, 1);
  lua_pushcfunction(lua, unknown_global);
  lua_setfield(lua, -2, "__index");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_setmetatable(lua, -2);
  lua_pop(lua, 1);

  luaL_requiref(lua, LUA_MATHLIBNAME, luaopen_math, 1);
  luaL_requiref(lua, LUA_UTF8LIBNAME, luaopen_utf8, 1);
  charge_functions(lua);
  luaL_requiref(lua, LUA_TABLIBNAME, luaopen_table, 1);
  wrap(lua, "concat", concat);
  lua_pop(lua, 3);
  open_os(lua);
  if (luaL_loadbufferx(lua, kWrittenInLua, sizeof(kWrittenInLua) - 1, "=base", "t") != LUA_OK) lua_error(lua);
  lua_call(lua, 0, 0);
}

}  // namespace atalaya::core
