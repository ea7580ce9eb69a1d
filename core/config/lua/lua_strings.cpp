// SPDX-License-Identifier: Apache-2.0
// The string library, with find, match, gmatch and gsub on LuaPattern, whose searches are bounded, and a bounded rep.
#include <cstring>
#include <string_view>
#include <type_traits>

#include "core/base/text/lua_pattern.h"
#include "core/config/lua/lua_state.h"

namespace atalaya::core {
namespace {

static_assert(std::is_trivially_destructible_v<LuaPattern>, "the functions below raise while one is alive");

std::string_view check_string(lua_State *lua, int index) {
  size_t size = 0;
  const char *text = luaL_checklstring(lua, index, &size);
  return {text, size};
}

// The offset of an `init` argument, which counts from 1, or from the end if it is negative. May exceed the end.
size_t start_offset(lua_State *lua, int index, size_t size) {
  const lua_Integer init = luaL_optinteger(lua, index, 1);
  if (init > 0) return static_cast<size_t>(init) - 1;
  if (init == 0 || init < -static_cast<lua_Integer>(size)) return 0;
  return size - (0 - static_cast<size_t>(init));
}

// Raises the error of the pattern, and counts its steps as work.
void settle(lua_State *lua, const LuaPattern &pattern, uint64_t before = 0) {
  if (pattern.error() != nullptr) luaL_error(lua, pattern.error(), pattern.error_number());
  LuaState::from_lua(lua).charge(pattern.steps() - before);
}

// Capture `index`; without captures the complete match is the first one.
void push_capture(lua_State *lua, const LuaPattern &pattern, int index, const char *subject, const char *begin, const char *end) {
  if (index >= pattern.captures()) {
    if (index != 0) luaL_error(lua, "invalid capture index %%%d", index + 1);
    lua_pushlstring(lua, begin, static_cast<size_t>(end - begin));
    return;
  }
  const LuaPattern::Capture &capture = pattern.capture(index);
  if (capture.size == LuaPattern::kPosition) {
    lua_pushinteger(lua, capture.begin - subject + 1);
  } else if (capture.size < 0) {
    luaL_error(lua, "unfinished capture");
  } else {
    lua_pushlstring(lua, capture.begin, static_cast<size_t>(capture.size));
  }
}

// Pushes all captures; without captures, and if requested, the complete match.
int push_captures(lua_State *lua, const LuaPattern &pattern, const char *subject, const char *begin, const char *end, bool whole) {
  const int count = pattern.captures() == 0 && whole ? 1 : pattern.captures();
  luaL_checkstack(lua, count, "too many captures");
  for (int i = 0; i < count; ++i) push_capture(lua, pattern, i, subject, begin, end);
  return count;
}

int find_plain(lua_State *lua, std::string_view subject, std::string_view text, size_t init) {
  LuaState::from_lua(lua).charge(subject.size() / 4);
  // memmem is linear; std::string_view::find is not.
  const void *found =
      text.empty() ? subject.data() + init : ::memmem(subject.data() + init, subject.size() - init, text.data(), text.size());
  if (found == nullptr) {
    lua_pushnil(lua);
    return 1;
  }
  const auto offset = static_cast<const char *>(found) - subject.data();
  lua_pushinteger(lua, offset + 1);
  lua_pushinteger(lua, offset + static_cast<lua_Integer>(text.size()));
  return 2;
}

int search(lua_State *lua, bool find) {
  const std::string_view subject = check_string(lua, 1);
  const std::string_view text = check_string(lua, 2);
  const size_t init = start_offset(lua, 3, subject.size());
  if (init > subject.size()) {
    lua_pushnil(lua);
    return 1;
  }
  if (find && (lua_toboolean(lua, 4) != 0 || text.find_first_of("^$*+?.([%-") == std::string_view::npos))
    return find_plain(lua, subject, text, init);
  LuaPattern pattern(subject, text, true);
  const char *const last = subject.data() + subject.size();
  for (const char *place = subject.data() + init; place <= last; ++place) {
    const char *end = pattern.match_at(place);
    if (end != nullptr) {
      settle(lua, pattern);
      if (!find) return push_captures(lua, pattern, subject.data(), place, end, true);
      lua_pushinteger(lua, place - subject.data() + 1);
      lua_pushinteger(lua, end - subject.data());
      return 2 + push_captures(lua, pattern, subject.data(), place, end, false);
    }
    if (pattern.anchored() || pattern.error() != nullptr) break;
  }
  settle(lua, pattern);
  lua_pushnil(lua);
  return 1;
}

int find(lua_State *lua) {
  return search(lua, true);
}
int match(lua_State *lua) {
  return search(lua, false);
}

// The position of a gmatch; a userdata that its iterator keeps.
struct Iteration {
  LuaPattern pattern;
  std::string_view subject;
  const char *place, *last_end;
};

int gmatch_next(lua_State *lua) {
  Iteration &at = *static_cast<Iteration *>(lua_touserdata(lua, lua_upvalueindex(3)));
  const uint64_t before = at.pattern.steps();
  for (; at.place <= at.subject.data() + at.subject.size(); ++at.place) {
    const char *end = at.pattern.match_at(at.place);
    if (at.pattern.error() != nullptr) break;
    if (end == nullptr || end == at.last_end) continue;
    const char *begin = at.place;
    at.place = at.last_end = end;
    settle(lua, at.pattern, before);
    return push_captures(lua, at.pattern, at.subject.data(), begin, end, true);
  }
  settle(lua, at.pattern, before);
  return 0;
}

int gmatch(lua_State *lua) {
  const std::string_view subject = check_string(lua, 1);
  const std::string_view text = check_string(lua, 2);
  const size_t init = start_offset(lua, 3, subject.size());
  lua_settop(lua, 2);  // the strings stay alive as upvalues
  void *memory = lua_newuserdatauv(lua, sizeof(Iteration), 0);
  const char *place = init > subject.size() ? subject.data() + subject.size() + 1 : subject.data() + init;
  new (memory) Iteration{LuaPattern(subject, text, false), subject, place, nullptr};
  lua_pushcclosure(lua, gmatch_next, 3);
  return 1;
}

// The replacement string with its %0 to %9 filled in.
void add_template(lua_State *lua, luaL_Buffer *result, const LuaPattern &pattern, const char *subject, const char *begin,
                  const char *end) {
  std::string_view text = check_string(lua, 3);
  for (;;) {
    const size_t percent = text.find('%');
    luaL_addlstring(result, text.data(), percent == std::string_view::npos ? text.size() : percent);
    if (percent == std::string_view::npos) return;
    text.remove_prefix(percent + 1);
    const char mark = text.empty() ? '\0' : text.front();
    if (mark == '%') {
      luaL_addchar(result, '%');
    } else if (mark == '0') {
      luaL_addlstring(result, begin, static_cast<size_t>(end - begin));
    } else if (mark >= '1' && mark <= '9') {
      push_capture(lua, pattern, mark - '1', subject, begin, end);
      luaL_addvalue(result);
    } else {
      luaL_error(lua, "invalid use of '%%' in replacement string");
    }
    text.remove_prefix(1);
  }
}

// Adds the replacement of one match; false if that is the match itself.
bool add_replacement(lua_State *lua, luaL_Buffer *result, const LuaPattern &pattern, const char *subject, const char *begin,
                     const char *end) {
  const int type = lua_type(lua, 3);
  if (type == LUA_TFUNCTION) {
    lua_pushvalue(lua, 3);
    lua_call(lua, push_captures(lua, pattern, subject, begin, end, true), 1);
  } else if (type == LUA_TTABLE) {
    push_capture(lua, pattern, 0, subject, begin, end);
    lua_gettable(lua, 3);
  } else {
    add_template(lua, result, pattern, subject, begin, end);
    return true;
  }
  if (lua_toboolean(lua, -1) == 0) {
    lua_pop(lua, 1);
    luaL_addlstring(result, begin, static_cast<size_t>(end - begin));
    return false;
  }
  if (lua_isstring(lua, -1) == 0) luaL_error(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
  luaL_addvalue(result);
  return true;
}

int gsub(lua_State *lua) {
  const std::string_view subject = check_string(lua, 1);
  const std::string_view text = check_string(lua, 2);
  const int type = lua_type(lua, 3);
  luaL_argexpected(lua, type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION || type == LUA_TTABLE, 3,
                   "string/function/table");
  const lua_Integer maximum = luaL_optinteger(lua, 4, static_cast<lua_Integer>(subject.size()) + 1);
  LuaPattern pattern(subject, text, true);
  const char *place = subject.data();
  const char *const last = place + subject.size();
  const char *last_end = nullptr;
  lua_Integer count = 0;
  bool changed = false;
  luaL_Buffer result;
  luaL_buffinit(lua, &result);
  while (count < maximum) {
    const uint64_t before = pattern.steps();
    const char *end = pattern.match_at(place);
    settle(lua, pattern, before);
    if (end != nullptr && end != last_end) {
      ++count;
      changed = add_replacement(lua, &result, pattern, subject.data(), place, end) || changed;
      place = last_end = end;
    } else if (place < last) {
      luaL_addchar(&result, *place++);
    } else {
      break;
    }
    if (pattern.anchored()) break;
  }
  if (changed) {
    luaL_addlstring(&result, place, static_cast<size_t>(last - place));
    luaL_pushresult(&result);
  } else {
    lua_pushvalue(lua, 1);
  }
  lua_pushinteger(lua, count);
  return 2;
}

// Repeating the empty string is cheap; a result that cannot fit is refused before it is built.
int repeat(lua_State *lua) {
  const std::string_view text = check_string(lua, 1);
  const lua_Integer count = luaL_checkinteger(lua, 2);
  size_t separator = 0;
  luaL_optlstring(lua, 3, "", &separator);
  const size_t each = text.size() + separator;
  if (count <= 0 || each == 0) {
    lua_pushliteral(lua, "");
    return 1;
  }
  if (static_cast<lua_Unsigned>(count) > LuaLimits::kString / each + 1)
    return luaL_error(lua, "the resulting string is longer than %I bytes", static_cast<lua_Integer>(LuaLimits::kString));
  return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

}  // namespace

void open_string_library(lua_State *lua) {
  luaL_requiref(lua, LUA_STRLIBNAME, luaopen_string, 1);
  lua_pushnil(lua);
  lua_setfield(lua, -2, "dump");
  lua_getfield(lua, -1, "rep");
  lua_pushcclosure(lua, repeat, 1);
  lua_insert(lua, -2);
  charge_functions(lua);
  lua_insert(lua, -2);
  lua_setfield(lua, -2, "rep");
  static constexpr luaL_Reg kFunctions[] = {
      {"find", find}, {"match", match}, {"gmatch", gmatch}, {"gsub", gsub}, {nullptr, nullptr}};
  luaL_setfuncs(lua, kFunctions, 0);
  // Strings share one metatable: nobody may change it.
  lua_pushliteral(lua, "");
  lua_getmetatable(lua, -1);
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_pop(lua, 3);
}

}  // namespace atalaya::core
