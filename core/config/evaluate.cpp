// SPDX-License-Identifier: Apache-2.0
#include "core/config/evaluate.h"

#include <algorithm>
#include <filesystem>
#include <new>
#include <system_error>

#include "core/base/files.h"
#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "core/config/lua/lua_read.h"
#include "core/config/lua/written_nil.h"
#include "core/plugin/registry.h"

namespace atalaya::core {

// Records the calls of the native functions. They must not raise an error while C++ objects exist in their frames, so each does
// its C++ work in one of the noexcept members here, which return plain data.
class Recorder {
 public:
  static constexpr size_t kMost = 10'000;  // declarations of all files

  Evaluation result;
  size_t file = 0;                                            // that runs
  std::vector<int> component_refs, pipeline_refs, test_refs;  // parameters and bodies, until the end of the file

  int add_component(RawComponent::Form form, uint32_t kind, const char *name, int reference) noexcept {
    return guarded([&] {
      RawComponent component;
      component.form = form;
      component.kind = kind;
      component.name = name;
      component.where = caller(&component.from_library);
      component.file = file;
      result.components.push_back(std::move(component));
      component_refs.push_back(reference);
      return static_cast<int>(result.components.size()) - 1;
    });
  }
  int add_pipeline(const char *name) noexcept {
    return guarded([&] {
      result.pipelines.push_back({name, caller(), file, false, {}, {}, {}});
      pipeline_refs.push_back(LUA_NOREF);
      return static_cast<int>(result.pipelines.size()) - 1;
    });
  }
  int add_test(const char *name) noexcept {
    return guarded([&] {
      result.tests.push_back({name, caller(), {}, {}});
      test_refs.push_back(LUA_NOREF);
      return static_cast<int>(result.tests.size()) - 1;
    });
  }
  int report(const char *before, const char *name, const char *after, bool suggest) noexcept {
    return guarded([&] {
      static const std::vector<std::string> names = {"source", "translate", "filter", "sink", "from", "call", "pipeline", "test"};
      std::string text = std::string(before) + (suggest ? in_quotes(name) + did_you_mean(name, names) : name) + after;
      result.reports.push_back({caller(), std::move(text)});
      return 0;
    });
  }

 private:
  template <class Work>
  int guarded(Work work) noexcept {
    try {
      if (result.components.size() + result.pipelines.size() + result.tests.size() + result.reports.size() > kMost) return -1;
      return work();
    } catch (const std::bad_alloc &) {
      return -1;
    }
  }

  // The line of a file that the native function was called from, through functions of the library if need be.
  Location caller(bool *from_library = nullptr) {
    lua_State *lua = result.state->raw();
    lua_Debug info{};
    for (int level = 1; lua_getstack(lua, level, &info) != 0; ++level) {
      lua_getinfo(lua, "Sl", &info);
      if (auto where = location_of(info, info.currentline); where.line > 0) return where;
      if (from_library != nullptr && info.what[0] != 'C') *from_library = true;
    }
    return {};
  }
};

namespace {

constexpr char kComponent[] = "atalaya.component", kBroken[] = "atalaya.broken";

Recorder &recorder(lua_State *lua) {
  Recorder *found = LuaState::from_lua(lua).recorder();
  if (found == nullptr) raise_error(lua, "pipelines are declared while the file is read, not by its functions");
  return *found;
}

int checked(lua_State *lua, int index) {
  if (index < 0) luaL_error(lua, "more than %d declarations", static_cast<int>(Recorder::kMost));
  return index;
}

// A declared component as a Lua value: a userdata with its number.
int push_component(lua_State *lua, int index, const char *metatable) {
  *static_cast<int *>(lua_newuserdatauv(lua, sizeof(int), 0)) = checked(lua, index);
  luaL_setmetatable(lua, metatable);
  return 1;
}

int construct(lua_State *lua) {
  Recorder &to = recorder(lua);
  lua_settop(lua, 1);
  if (lua_istable(lua, 1) != 0 && lua_isfunction(lua, lua_upvalueindex(3)) != 0) {
    lua_pushvalue(lua, lua_upvalueindex(3));
    lua_insert(lua, 1);
    lua_call(lua, 1, 1);
  }
  const int reference = luaL_ref(lua, LUA_REGISTRYINDEX);
  const auto kind = static_cast<uint32_t>(lua_tointeger(lua, lua_upvalueindex(1)));
  const char *name = lua_tostring(lua, lua_upvalueindex(2));
  return push_component(lua, to.add_component(RawComponent::Form::component, kind, name, reference), kComponent);
}

// native.constructor(kind, name[, complete]): the function behind a.source.NAME. `complete` gets the table of parameters and
// returns the table that is used.
int constructor(lua_State *lua) {
  lua_settop(lua, 3);
  const char *kind = luaL_checkstring(lua, 1);
  if (lua_type(lua, 2) != LUA_TSTRING) return luaL_error(lua, "a component has a name, as in a.source.proc {}");
  lua_pushinteger(lua, kind_from_name(kind));
  lua_pushvalue(lua, 2);
  lua_pushvalue(lua, 3);
  lua_pushcclosure(lua, construct, 3);
  return 1;
}

int push_broken(lua_State *lua) {
  return push_component(lua, recorder(lua).add_component(RawComponent::Form::broken, 0, "", LUA_NOREF), kBroken);
}

int unknown(lua_State *lua) {
  const char *name = lua_type(lua, 1) == LUA_TSTRING ? lua_tostring(lua, 1) : luaL_typename(lua, 1);
  checked(lua, recorder(lua).report("atalaya has no ", name, "", true));
  return push_broken(lua);
}

int from(lua_State *lua) {
  if (lua_type(lua, 1) != LUA_TSTRING) {
    checked(lua, recorder(lua).report("a.from takes the name of a pipeline: ", "a.from \"processes\"", "", false));
    return push_broken(lua);
  }
  const char *name = lua_tostring(lua, 1);
  return push_component(lua, recorder(lua).add_component(RawComponent::Form::from, 0, name, LUA_NOREF), kComponent);
}

int call(lua_State *lua) {
  Recorder &to = recorder(lua);
  lua_settop(lua, 1);
  const int reference = luaL_ref(lua, LUA_REGISTRYINDEX);
  return push_component(lua, to.add_component(RawComponent::Form::call, 0, "function", reference), kComponent);
}

// The second call of a.pipeline "name" { ... }; upvalues: its number, and whether it is a test.
int body(lua_State *lua) {
  Recorder &to = recorder(lua);
  const auto index = static_cast<size_t>(lua_tointeger(lua, lua_upvalueindex(1)));
  const bool test = lua_toboolean(lua, lua_upvalueindex(2)) != 0;
  lua_settop(lua, 1);
  (test ? to.test_refs : to.pipeline_refs)[index] = luaL_ref(lua, LUA_REGISTRYINDEX);
  return 0;
}

int declare(lua_State *lua, bool test) {
  Recorder &to = recorder(lua);
  if (lua_type(lua, 1) != LUA_TSTRING) {
    checked(lua, to.report(test ? "a.test" : "a.pipeline",
                           " takes a name first: ", test ? "a.test \"name\" { ... }" : "a.pipeline \"name\" { ... }", false));
    return push_broken(lua);
  }
  const char *name = lua_tostring(lua, 1);
  lua_pushinteger(lua, checked(lua, test ? to.add_test(name) : to.add_pipeline(name)));
  lua_pushboolean(lua, test ? 1 : 0);
  lua_pushcclosure(lua, body, 2);
  return 1;
}
int pipeline(lua_State *lua) {
  return declare(lua, false);
}
int test_case(lua_State *lua) {
  return declare(lua, true);
}

int itself(lua_State *lua) {
  lua_settop(lua, 1);
  return 1;
}

void close_metatable(lua_State *lua, const char *name, const luaL_Reg *functions) {
  luaL_newmetatable(lua, name);
  luaL_setfuncs(lua, functions, 0);
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_pop(lua, 1);
}

void open_native(LuaState &state) {
  lua_State *lua = state.raw();
  // The value of a mistyped name accepts any use, so that the rest of the file is still read.
  static constexpr luaL_Reg kBrokenFunctions[] = {{"__index", itself}, {"__call", itself}, {nullptr, nullptr}};
  static constexpr luaL_Reg kNoFunctions[] = {{nullptr, nullptr}};
  close_metatable(lua, kComponent, kNoFunctions);
  close_metatable(lua, kBroken, kBrokenFunctions);
  static constexpr luaL_Reg kNative[] = {{"constructor", constructor}, {"unknown", unknown}, {"from", from},    {"call", call},
                                         {"pipeline", pipeline},       {"test", test_case},  {nullptr, nullptr}};
  luaL_newlib(lua, kNative);
  const std::string folder = state_folder();
  lua_pushlstring(lua, folder.data(), folder.size());
  lua_setfield(lua, -2, "state_folder");
  state.set_native();
}

// ---- Reading the declarations
// ------------------------------------------------------------------------------------------------

// The component or function behind a reference to an element of a pipeline's list.
RawEntry entry_of(lua_State *lua, int reference, int position) {
  RawEntry entry;
  const std::string place = "entry " + std::to_string(position) + " ";
  lua_rawgeti(lua, LUA_REGISTRYINDEX, reference);
  const void *component = luaL_testudata(lua, -1, kComponent);
  if (component == nullptr) component = luaL_testudata(lua, -1, kBroken);
  if (component != nullptr) {
    entry.component = *static_cast<const int *>(component);
  } else if (lua_tocfunction(lua, -1) == construct) {
    lua_getupvalue(lua, -1, 2);
    entry.wrong = place + "is the constructor of " + in_quotes(lua_tostring(lua, -1)) +
                  "; call it: write {} behind it, if it needs no parameters";
    lua_pop(lua, 1);
  } else if (lua_type(lua, -1) == LUA_TFUNCTION && lua_iscfunction(lua, -1) == 0) {
    lua_Debug info{};
    lua_pushvalue(lua, -1);
    lua_getinfo(lua, ">S", &info);
    entry.where = location_of(info, info.linedefined);
    entry.function = reference;
  } else {
    entry.wrong = place + "is a " + luaL_typename(lua, -1) + ", not a source, stage or sink";
  }
  lua_pop(lua, 1);
  return entry;
}

void read_components(Recorder &recorder, LuaReader &reader, lua_State *lua) {
  WrittenNil written_nil(recorder.result.state->texts());
  for (size_t i = 0; i < recorder.result.components.size(); ++i) {
    RawComponent &component = recorder.result.components[i];
    lua_rawgeti(lua, LUA_REGISTRYINDEX, recorder.component_refs[i]);
    if (component.form == RawComponent::Form::call && lua_type(lua, -1) == LUA_TTABLE) {
      lua_rawgeti(lua, -1, 1);
      if (lua_type(lua, -1) == LUA_TFUNCTION) {
        component.function = luaL_ref(lua, LUA_REGISTRYINDEX);
      } else {
        lua_pop(lua, 1);
      }
    }
    component.parameters = reader.take(component.problems);
    const bool call = component.form == RawComponent::Form::call;
    if (component.from_library) continue;
    written_nil.add_to(component.parameters, call ? "call" : component.name, component.where);
  }
}

void read_pipelines(Recorder &recorder, LuaReader &reader, lua_State *lua) {
  for (size_t i = 0; i < recorder.result.pipelines.size(); ++i) {
    RawPipeline &pipeline = recorder.result.pipelines[i];
    lua_rawgeti(lua, LUA_REGISTRYINDEX, recorder.pipeline_refs[i]);
    pipeline.complete = lua_type(lua, -1) == LUA_TTABLE;
    if (!pipeline.complete) {
      lua_pop(lua, 1);
      continue;
    }
    std::vector<int> elements;
    pipeline.options = reader.take_table(pipeline.problems, elements);
    for (const int element : elements)
      pipeline.entries.push_back(entry_of(lua, element, static_cast<int>(pipeline.entries.size()) + 1));
  }
}

void read_tests(Recorder &recorder, LuaReader &reader, lua_State *lua) {
  for (size_t i = 0; i < recorder.result.tests.size(); ++i) {
    lua_rawgeti(lua, LUA_REGISTRYINDEX, recorder.test_refs[i]);
    recorder.result.tests[i].body = reader.take(recorder.result.tests[i].problems);
  }
}

void read_out(Recorder &recorder) {
  LuaState &state = *recorder.result.state;
  lua_State *const lua = state.raw();
  state.lift_memory_limit();
  // Separate readers, so that very large parameters do not exhaust the limit for pipelines.
  LuaReader components(lua);
  LuaReader pipelines(lua);
  LuaReader tests(lua);
  read_components(recorder, components, lua);
  read_pipelines(recorder, pipelines, lua);
  read_tests(recorder, tests, lua);
  state.restore_memory_limit();
}

// Runs one file; true if it ended without an error.
bool run_file(const std::string &path, Recorder &recorder) {
  LuaState &state = *recorder.result.state;
  LuaState::Failure failure;
  if (!state.load(path, failure)) {
    recorder.result.reports.push_back({failure.where, failure.text});
    return false;
  }
  state.set_recorder(&recorder);
  state.start_limit(LuaLimits::kEvaluate_ns);
  const bool finished = state.call(0, 0);
  state.end_limit();
  state.set_recorder(nullptr);
  if (finished) return true;
  failure = state.failure();
  recorder.result.reports.push_back({failure.where.file.empty() ? Location{path, 0} : failure.where, failure.text});
  return false;
}

bool is_repeated(const std::vector<std::string> &paths, size_t file) {
  std::error_code error;
  return std::any_of(paths.begin(), paths.begin() + static_cast<std::ptrdiff_t>(file), [&](const std::string &other) {
    return other == paths[file] || std::filesystem::equivalent(other, paths[file], error);
  });
}

}  // namespace

Evaluation evaluate(const std::vector<std::string> &paths, const std::string &library) {
  Recorder recorder;
  recorder.result.paths = paths;
  recorder.result.state = std::make_unique<LuaState>(library);
  LuaState &state = *recorder.result.state;
  state.lift_memory_limit();
  open_native(state);
  state.restore_memory_limit();
  recorder.result.finished = true;
  for (recorder.file = 0; recorder.file < paths.size(); ++recorder.file) {
    if (is_repeated(paths, recorder.file))
      recorder.result.reports.push_back({{paths[recorder.file], 0}, "is named twice; name each file once"});
    else
      recorder.result.finished = run_file(paths[recorder.file], recorder) && recorder.result.finished;
  }
  read_out(recorder);
  return std::move(recorder.result);
}

}  // namespace atalaya::core
