// SPDX-License-Identifier: Apache-2.0
// A sandboxed Lua 5.4 state for pipeline files: without access to files, programs and libraries, with limits of memory and CPU
// time.
//
// Lua is compiled as C: lua_error does not run destructors (longjmp). A C function must therefore have no object with a destructor
// in scope when it may raise an error; noexcept helpers use C++ objects and store their results in plain data.
#pragma once

#include <lua.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/config/description.h"
#include "core/config/lua/lua_heap.h"

namespace atalaya::core {

// All limits. Times are CPU time of the thread, so that a busy host does not shorten them.
struct LuaLimits {
  static constexpr size_t kMemory = size_t{64} << 20;     // memory of one state
  static constexpr size_t kString = size_t{1} << 20;      // bytes of one string
  static constexpr size_t kElements = 1'000'000;          // elements that one call of a library function may visit
  static constexpr size_t kFile = size_t{1} << 20;        // bytes of one Lua file
  static constexpr int64_t kEvaluate_ns = 2'000'000'000;  // time to evaluate one file
  static constexpr int64_t kBatch_ns = 50'000'000;        // the inline function calls of one batch: this time,
  static constexpr int64_t kSample_ns = 5'000;            // plus this for each sample of the batch
  static constexpr size_t kBatchAdds = size_t{16} << 20;  // bytes that the calls of one batch may add to it: this,
  static constexpr size_t kSampleAdds = size_t{4} << 10;  // plus this for each sample of the batch
  static constexpr int kHookInstructions = 1000;          // between two checks of the time
};

// The string at an index of the stack; valid as long as it is on the stack.
inline std::string_view string_at(lua_State *lua, int index) {
  size_t size = 0;
  const char *text = lua_tolstring(lua, index, &size);
  return {text, size};
}

class SampleViews;
class Recorder;  // records the calls of constructors in a pipeline file: evaluate.cpp

class LuaState {
 public:
  // `library` is the folder of Atalaya's Lua files.
  explicit LuaState(std::string library);
  LuaState(const LuaState &) = delete;
  LuaState &operator=(const LuaState &) = delete;
  ~LuaState();

  lua_State *raw() { return lua_; }
  static LuaState &from_lua(lua_State *lua) { return **static_cast<LuaState **>(lua_getextraspace(lua)); }

  struct Failure {
    Location where;  // line 0: unknown
    std::string text;
  };

  // Reads and compiles a pipeline file, pushes the function and returns true; adds the text to the digest. Each file has separate
  // global variables and modules; it reads modules from its own folder.
  bool load(const std::string &path, Failure &failure);
  // As `load`, for a text that is in no file.
  bool load_text(std::string text, Failure &failure);

  // Starts a time limit, which all calls until end_limit share.
  void start_limit(int64_t limit_ns);
  void end_limit();
  bool timed_out() const { return timed_out_; }
  // lua_pcall with limits and file:line messages. After a failure the function and its arguments are removed from the stack.
  bool call(int arguments, int results);
  Failure failure();  // the error of the last call that failed

  // Removes the memory limit, for C++ code that reads results: without it, Lua calls that only allocate raise no error.
  void lift_memory_limit() { heap_.set_limit(SIZE_MAX); }
  void restore_memory_limit() { heap_.set_limit(LuaLimits::kMemory); }

  const std::vector<std::string> &files() const { return files_; }
  const std::map<std::string, std::string, std::less<>> &texts() const { return texts_; }  // the texts of the files, by path
  std::string digest() const;

  // Counts the work of a C function, which executes no Lua instructions; raises an error if the time limit is exceeded.
  void charge(uint64_t steps);

  // Implements `require` of the pipeline file with this number: pushes the compiled module and its three arguments, or raises an
  // error.
  void load_module(const char *name, size_t file);

  // Records constructor calls while a pipeline file is evaluated; null while its functions run.
  Recorder *recorder() { return recorder_; }
  void set_recorder(Recorder *recorder) { recorder_ = recorder; }

  // Not null while functions may run on samples.
  SampleViews *views() { return views_; }
  void set_views(SampleViews *views) { views_ = views; }

  // Pops a table of C functions, which becomes the third argument of the library file `atalaya`.
  void set_native();

 private:
  friend struct LuaCallbacks;  // the C functions, in lua_state.cpp and lua_base.cpp

  bool out_of_time();
  void trip();
  void note_place();
  [[noreturn]] void raise_timeout();
  bool read_source(const std::string &path, bool from_library) noexcept;
  bool compile(const std::string &chunk, Failure &failure);
  bool find_module(std::string_view name, const std::string &folder) noexcept;
  static int handle_error(lua_State *lua);

  LuaHeap heap_;
  lua_State *lua_ = nullptr;
  std::string library_;
  std::vector<std::string> folders_;  // folders of the pipeline files: "" or ending in '/'
  std::vector<std::string> files_;
  std::map<std::string, std::string, std::less<>> texts_;
  uint64_t digest_ = 0xcbf29ce484222325;
  int native_ = LUA_NOREF;
  Recorder *recorder_ = nullptr;
  SampleViews *views_ = nullptr;

  int64_t limit_ns_ = 0, wall_deadline_ns_ = 0, cpu_deadline_ns_ = 0;
  bool limited_ = false, timed_out_ = false;
  uint64_t charged_ = 0;

  // The module that is being read.
  std::string chunk_, source_, problem_;
  // The location of the last failure, stored without an allocation: the chunk's name (with '@') and a line.
  char failed_chunk_[4096] = "";
  int failed_line_ = 0;
  Failure failure_;
};

// luaL_error, declared [[noreturn]].
[[noreturn]] void raise_error(lua_State *lua, const char *text);

void open_base_library(lua_State *lua);  // lua_base.cpp: base functions, os, bounded tables
// Gives the function on the stack separate global variables, with a `require` for the file with this number.
void isolate_globals(lua_State *lua, size_t file);
void open_string_library(lua_State *lua);  // lua_strings.cpp: string functions on bounded patterns
// Wraps every C function of the table on the stack, so that the bytes of its arguments count as work (LuaState::charge).
void charge_functions(lua_State *lua);

}  // namespace atalaya::core
