// SPDX-License-Identifier: Apache-2.0
// Limits of a pipeline file: it cannot leave its state, run for ever, or take all memory. Each test would hang or grow without
// the limits; then the test's own time limit in ctest fails.
#include "core/config/lua/lua_state.h"

#include <doctest/doctest.h>

#include "tests/unit/core/config/fixture.h"

using namespace atalaya::core;

namespace {

constexpr int64_t kLimit_ns = 200'000'000;

struct Run {
  bool ok = false;
  std::string text;  // the returned string, or the error
  int line = 0;
};

Run run(const std::string &code, int64_t limit_ns = kLimit_ns) {
  const config_test::Folder folder;
  LuaState state(config_test::library());
  LuaState::Failure failure;
  REQUIRE_MESSAGE(state.load(folder.write("test.lua", code), failure), failure.text);
  state.start_limit(limit_ns);
  Run result;
  result.ok = state.call(0, 1);
  state.end_limit();
  if (result.ok) {
    const char *text = lua_tostring(state.raw(), -1);
    result.text = text == nullptr ? luaL_typename(state.raw(), -1) : text;
  } else {
    result.text = state.failure().text;
    result.line = state.failure().where.line;
  }
  return result;
}

const std::string kTimeout = "stopped after 200ms of computing; is there an endless loop?";
const std::string kMemory = "more memory than a pipeline file may use: 64 MiB in all, 1 MiB in one string";

}  // namespace

TEST_CASE("no code can leave the state") {
  for (const char *name : {"io", "load", "loadstring", "loadfile", "dofile", "package", "debug", "coroutine", "collectgarbage"})
    CHECK(run(std::string("return ") + name).text == std::string("unknown name \"") + name + "\"");
  CHECK(run("return os.execute").text == "nil");
  CHECK(run("return os.exit").text == "nil");
  CHECK(run("return string.dump").text == "nil");
  CHECK(run("return getmetatable('')").text == "boolean");
  CHECK(run("return type(os.time()) .. type(os.clock()) .. type(os.getenv('PATH'))").text == "numbernumberstring");
  CHECK(run("local s = '' for i = 1, 3 do s = s .. ('x'):rep(i) end return s").text == "xxxxxx");
}

TEST_CASE("endless loops end") {
  for (const char *code : {
           "while true do end",
           "::again:: goto again",
           "while true do pcall(function() while true do end end) end",
           "while true do pcall(error) end",
           "while true do xpcall(function() while true do end end, function() while true do end end) end",
           "local x <close> = setmetatable({}, { __close = function() while true do end end }) while true do end",
           // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one program on two lines
           "local t = setmetatable({}, { __index = function(t, k) return t[k + 1] end }) while true do pcall(function() return "
           "t[1] end) end",
           "while true do local s = ('x'):rep(1e6) end",
           "local s, t = ('x'):rep(1e6), ('x'):rep(1e6) .. 'y' while true do local b = s < t end",
           "local s = ('x'):rep(1e6) while true do s:upper() s:reverse() s:byte(1, 100) s:format() utf8.len(s) end",
           "local s = ('x'):rep(1e6) while true do s:find('y', 1, true) s:gsub('x', 'y') end",
           "local big = {} for i = 1, 60 do big[i] = ('x'):rep(1e6 - i) end while true do pcall(string.rep, 'x', 1e6) end",
           "local t = {} for i = 1, 1e5 do t[i] = ('x'):rep(10) end while true do table.concat(t) end",
           "table.sort({ 3, 1, 2 }, function() while true do end end)",
           "string.gsub('aaa', 'a', function() while true do end end)",
       }) {
    INFO(code);
    const Run result = run(code);
    CHECK_FALSE(result.ok);
    CHECK(result.text == kTimeout);
    CHECK(result.line == 1);
  }
}

TEST_CASE("library functions do not run for ever in C") {
  CHECK(run("return #string.rep('', 1 << 60)").text == "0");
  CHECK(run("return #string.rep('', 1 << 60, '')").text == "0");
  CHECK(run("return string.rep('x', 1 << 60)").text == "the resulting string is longer than 1048576 bytes");
  const std::string expensive = "pattern too expensive";
  CHECK(run("return ('a'):rep(400):find('.-.-.-.-b')").text == expensive);
  CHECK(run("return ('a'):rep(400):match('.-.-.-.-b')").text == expensive);
  CHECK(run("for x in ('a'):rep(400):gmatch('.-.-.-.-b') do end").text == expensive);
  CHECK(run("return ('a'):rep(400):gsub('.-.-.-.-b', '')").text == expensive);
  CHECK(run("return ('('):rep(100000):find('%b()')").text == expensive);
  CHECK(run("return ('a'):rep(500000):find(('a'):rep(250000) .. 'b', 1, true)").text == "nil");
  const std::string lying =
      "local t = setmetatable({}, { __len = function() return 1 << 60 end, __index = function() return 1 end, __newindex = "
      "function() end }) ";
  CHECK(run(lying + "return table.concat(t)").text == "too many elements to concatenate");
  CHECK(run("return table.concat({}, '', 1, 1 << 60)").text == "too many elements to concatenate");
  CHECK(run("return table.concat({ 'a' }, ',', math.mininteger, math.maxinteger)").text == "too many elements to concatenate");
  CHECK(run(lying + "return table.unpack(t)").text == "too many results to unpack");
  CHECK(run(lying + "table.insert(t, 1, 1)").text == kTimeout);
  CHECK(run(lying + "table.remove(t, 1)").text == kTimeout);
  CHECK(run(lying + "table.sort(t)").text == kTimeout);
  CHECK(run("table.move({}, 1, 1 << 60, 2)").text == kTimeout);
  CHECK(run("local t = { 5, 4, 3, 2, 1 } table.sort(t, function() return true end) return #t").text == "5");
}

TEST_CASE("memory is bounded, and the file's line is reported") {
  for (const char *code :
       {"local t = {}\nfor i = 1, 1e9 do t[i] = i end", "local t = {}\nwhile true do t = { t } end",
        "local s = 'x'\nwhile true do s = s .. s end", "local t = {}\nfor i = 1, 1e9 do t[i] = ('x'):rep(1e6) .. i end"}) {
    INFO(code);
    const Run result = run(code, 100 * kLimit_ns);
    CHECK_FALSE(result.ok);
    CHECK(result.text == kMemory);
    CHECK(result.line == 2);
  }
}

TEST_CASE("finalizers are refused: they would run without a limit") {
  CHECK(run("setmetatable({}, { __gc = true })").text == "__gc is not available in pipeline files");
  CHECK(run("local m = { __index = { a = 5 } } return setmetatable({}, m).a").text == "5");
}

TEST_CASE("weak tables are refused: they would take the collector quadratic time, without a limit") {
  CHECK(run("setmetatable({}, { __mode = 'k' })").text == "__mode is not available in pipeline files");
  CHECK(run("local m = {} setmetatable({}, m) m.__mode = 'k'").text == "__mode has no effect after setmetatable: set it before");
  // Ways around: the tables stay strong, and keep their entries.
  const std::string chain =
      "local k = {} "
      "for i = 1, 20000 do local next = {} t[k] = next k = next end "
      "k = nil for i = 1, 200 do local s = ('x'):rep(1000000) .. i end "
      "local n = 0 for _ in pairs(t) do n = n + 1 end return n";
  for (const char *way :
       {"local m = {} local t = setmetatable({}, m) rawset(m, '__mode', 'k') ",
        "local m = setmetatable({}, {}) local t = setmetatable({}, m) m.__mode = 'k' ",
        "local m = {} local t = setmetatable({}, m) local g = getmetatable(m) if g then g.__newindex = nil end rawset(m, '__mode', "
        "'k') ",
        "local m = {} local t = setmetatable({}, m) rawset(getmetatable(t), '__mode', 'k') ",
        "local m = { __mode_ = 1 } local t = setmetatable({}, m) rawset(m, '__mo' .. 'de', 'k') setmetatable(m, nil) "}) {
    INFO(way);
    const Run result = run(way + chain, 100 * kLimit_ns);
    CHECK(result.text == "20000");
  }
}

TEST_CASE("metatables work as in Lua") {
  CHECK(run("local m = {} local t = setmetatable({}, m) return tostring(getmetatable(t) == m)").text == "true");
  CHECK(run("local m = {} setmetatable({}, m) return getmetatable(m)").text == "nil");
  CHECK(run("local m = { __metatable = 'mine' } return getmetatable(setmetatable({}, m))").text == "mine");
  CHECK(run("local t = setmetatable({}, { __metatable = false }) setmetatable(t, {})").text ==
        "cannot change a protected metatable");
  CHECK(run("local t = setmetatable({}, { __index = { a = 1 } }) setmetatable(t, nil) return t.a").text == "nil");
  CHECK(
      run("local C = {} C.__index = C local o = setmetatable({}, C) function C:f() return self.x end o.x = 7 return o:f()").text ==
      "7");
  CHECK(run("local B = { b = 2 } B.__index = B local C = setmetatable({}, B) C.__index = C return setmetatable({}, C).b").text ==
        "2");
  CHECK(run("local m = { __add = function(a, b) return 3 end } return setmetatable({}, m) + setmetatable({}, m)").text == "3");
}

TEST_CASE("errors have the position in the file, for names of every length") {
  const config_test::Folder folder;
  const std::string path = folder.write(std::string(120, 'n') + ".lua", "local function f(x)\n  return x.y\nend\nf(nil)\n");
  LuaState state(config_test::library());
  LuaState::Failure failure;
  REQUIRE(state.load(path, failure));
  REQUIRE_FALSE(state.call(0, 0));
  CHECK(state.failure().where.file == path);
  CHECK(state.failure().where.line == 2);
  CHECK(state.failure().text == "attempt to index a nil value (local 'x')");

  REQUIRE_FALSE(state.load(folder.write(std::string(120, 'm') + ".lua", "local x =\n\n= 5"), failure));
  CHECK(failure.where.line == 3);
  CHECK(failure.text == "unexpected symbol near '='");
}

TEST_CASE("values that are raised become one line") {
  CHECK(run("error('a\\nb\\27[1m', 0)").text == "a b [1m");
  CHECK(run("error({})").text == "a table was raised as an error");
  CHECK(run("error()").text == "a nil was raised as an error");
  CHECK(run("table.insert({}, 5, 1)").text == "bad argument #2 to 'insert' (position out of bounds)");
  CHECK(run("\n\ntable.sort({ 1, 'x' })").line == 3);
}

TEST_CASE("require reads the library and the file's own folder, and nothing else") {
  const config_test::Folder folder;
  std::filesystem::create_directory((folder / "rules"));
  folder.write("rules/java.lua", "return { name = ... }");
  folder.write("broken.lua", "error('no rules')");
  folder.write("loop.lua", "return require 'loop'");
  const auto required = [&](const std::string &code) {
    LuaState state(config_test::library());
    LuaState::Failure failure;
    REQUIRE(state.load(folder.write("main.lua", code), failure));
    if (!state.call(0, 1)) return state.failure().text;
    return std::string(lua_tostring(state.raw(), -1));
  };
  CHECK(required("local r = require 'rules.java' return r.name .. tostring(r == require 'rules.java')") == "rules.javatrue");
  CHECK(required("require 'broken'") == "no rules");
  CHECK(required("pcall(require, 'broken') require 'broken'") ==
        "module \"broken\" is required while it is being read, or failed before");
  CHECK(required("require 'loop'") == "module \"loop\" is required while it is being read, or failed before");
  for (const char *name : {"../main", "/etc/passwd", "..main", "rules..java", "", "rules/java", ".rules"}) {
    INFO(name);
    CHECK(required(std::string("require '") + name + "'") ==
          "\"" + std::string(name) + "\" is not the name of a module; write letters, digits and _, with dots between folders");
  }
}
