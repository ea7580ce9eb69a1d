// SPDX-License-Identifier: Apache-2.0
// The string and table functions of a closed state against Lua's own.
#include <doctest/doctest.h>

#include <lua.hpp>

#include <memory>
#include <random>
#include <string>

#include "core/config/lua/lua_state.h"

using namespace atalaya::core;

namespace {

// Returns a function that applies all four functions to a subject and a pattern and returns the results, errors too.
constexpr char kStrings[] = R"lua(
local function show(...)
  local t = table.pack(...)
  for i = 1, t.n do t[i] = type(t[i]) .. ":" .. tostring(t[i]) end
  return table.concat(t, "|")
end
return function(s, p, r, init)
  local out = {}
  local function add(...) out[#out + 1] = show(...) end
  add(pcall(string.find, s, p)) add(pcall(string.find, s, p, init)) add(pcall(string.find, s, p, init, true))
  add(pcall(string.match, s, p)) add(pcall(string.match, s, p, init))
  add(pcall(function() for a, b in string.gmatch(s, p) do add(a, b) end end))
  add(pcall(function() for a in string.gmatch(s, p, init) do add(a) end end))
  add(pcall(string.gsub, s, p, r)) add(pcall(string.gsub, s, p, "<%0>", 2))
  add(pcall(string.gsub, s, p, { a = "A", b = 1, ab = false }))
  add(pcall(string.gsub, s, p, function(...) add(...) return (...) == "a" and "x" or nil end))
  add(pcall(string.rep, s, init, p)) add(pcall(string.rep, s, -init))
  return table.concat(out, "\n")
end
)lua";

constexpr char kTables[] = R"lua(
return function(seed, values)
  local list, out = {}, {}
  local state = seed
  local function random(n) state = (state * 1103515245 + 12345) % 2147483648 return state // 65536 % n + 1 end
  local function add(...) out[#out + 1] = table.concat({ ... }, ",") end
  for step = 1, values do
    local action = random(6)
    if action <= 2 then table.insert(list, random(100))
    elseif action == 3 then add(tostring(pcall(table.insert, list, random(20) - 2, random(100))))
    elseif action == 4 then local ok, v = pcall(table.remove, list, random(20) - 2) add(tostring(ok), ok and tostring(v) or "")
    elseif action == 5 then add(tostring(table.remove(list)))
    else table.move(list, random(5), random(10), random(10)) end
    for i = #list + 1, 40 do list[i] = nil end
    add(table.unpack(list, 1, #list))
  end
  for i = 1, 40 do list[i] = list[i] or i end
  table.sort(list) add(table.unpack(list))
  table.sort(list, function(a, b) return a > b end) add(table.unpack(list))
  return table.concat(out, "\n")
end
)lua";

struct Close {
  void operator()(lua_State *lua) const { lua_close(lua); }
};

class Pair {
 public:
  explicit Pair(const char *code) : ours_(""), stock_(luaL_newstate()) {
    luaL_openlibs(stock_.get());
    for (lua_State *lua : {ours_.raw(), stock_.get()}) {
      REQUIRE(luaL_loadbufferx(lua, code, std::char_traits<char>::length(code), "=test", "t") == LUA_OK);
      REQUIRE(lua_pcall(lua, 0, 1, 0) == LUA_OK);
    }
  }
  template <class Push>
  void compare(Push push, const std::string &description) {
    const std::string ours = result(ours_.raw(), push);
    const std::string stock = result(stock_.get(), push);
    INFO(description);
    CHECK(ours == stock);
  }

 private:
  template <class Push>
  static std::string result(lua_State *lua, Push push) {
    lua_pushvalue(lua, 1);
    const int arguments = push(lua);
    const int status = lua_pcall(lua, arguments, 1, 0);
    size_t size = 0;
    const char *text = lua_tolstring(lua, -1, &size);
    std::string copy = std::to_string(status) + " " + (text == nullptr ? std::string("?") : std::string(text, size));
    lua_settop(lua, 1);
    return copy;
  }

  LuaState ours_;
  std::unique_ptr<lua_State, Close> stock_;
};

std::string random_text(std::mt19937 &random, const std::vector<std::string> &pieces, size_t longest) {
  std::string text;
  for (size_t i = random() % (longest + 1); i > 0; --i) text += pieces[random() % pieces.size()];
  return text;
}

}  // namespace

TEST_CASE("patterns return the same as Lua's own functions") {
  Pair pair(kStrings);
  std::mt19937 random(7);
  const std::vector<std::string> letters = {"a", "b", "c", "1", " ", "(", ")", "x", "A", std::string(1, '\0'), "\xc3\xa4"};
  const std::vector<std::string> items = {"a",    "b",    "c",     ".",     "%a", "%d",   "%s",   "%w",     "%A",     "%x", "%p",
                                          "[ab]", "[^a]", "[a-c]", "[%a1]", "[]", "[^]]", "[a-]", "*",      "+",      "-",  "?",
                                          "(",    ")",    "()",    "%1",    "%2", "%b()", "%bab", "%f[%a]", "%f[^a]", "%f", "%b",
                                          "^",    "$",    "%%",    "%",     "[",  "]",    "(a)",  "(.-)"};
  const std::vector<std::string> replacements = {"x", "%0", "%1", "%2", "%%", "", "%", "%a", "-%1-"};
  for (int i = 0; i < 20'000; ++i) {
    const std::string subject = random_text(random, letters, 10);
    const std::string pattern = random_text(random, items, 6);
    const std::string replacement = random_text(random, replacements, 2);
    const lua_Integer init = static_cast<lua_Integer>(random() % 25) - 12;
    pair.compare(
        [&](lua_State *lua) {
          lua_pushlstring(lua, subject.data(), subject.size());
          lua_pushlstring(lua, pattern.data(), pattern.size());
          lua_pushlstring(lua, replacement.data(), replacement.size());
          lua_pushinteger(lua, init);
          return 4;
        },
        // NOLINTNEXTLINE(performance-inefficient-string-concatenation): a message of a test
        "subject <" + subject + "> pattern <" + pattern + "> replacement <" + replacement + "> init " + std::to_string(init));
  }
}

TEST_CASE("the table functions return the same as Lua's own") {
  Pair pair(kTables);
  for (lua_Integer seed = 1; seed <= 200; ++seed) {
    pair.compare(
        [&](lua_State *lua) {
          lua_pushinteger(lua, seed);
          lua_pushinteger(lua, 40);
          return 2;
        },
        "seed " + std::to_string(seed));
  }
}
