// SPDX-License-Identifier: Apache-2.0
// A closed Lua 5.4 state for pipeline files: no way out to files, programs or libraries, and limits of memory and computing time.
//
// Lua is C here: lua_error jumps over destructors. So nothing with a destructor lives in a C function where it may raise; what
// needs C++ is done in a noexcept helper that leaves its answer in plain data.
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

// The limits, all in one place. Times are of the thread's processor, so that a busy host does not shorten them.
struct LuaLimits {
  static constexpr size_t kMemory = size_t{64} << 20;     // of one file
  static constexpr size_t kString = size_t{1} << 20;      // of one string
  static constexpr size_t kElements = 1'000'000;          // that one call of a library function may go through
  static constexpr size_t kFile = size_t{1} << 20;        // of one Lua file's text
  static constexpr int64_t kEvaluate_ns = 2'000'000'000;  // evaluating a file
  static constexpr int64_t kBatch_ns = 50'000'000;        // the inline function calls of one batch,
  static constexpr int64_t kSample_ns = 5'000;            // and for each of its samples
  static constexpr size_t kBatchAdds = size_t{16} << 20;  // bytes that the calls of one batch may add to it,
  static constexpr size_t kSampleAdds = size_t{4} << 10;  // and for each of its samples
  static constexpr int kHookInstructions = 1000;          // between two looks at the clock
};

// The string at this index of the stack, valid while it is on the stack.
inline std::string_view string_at(lua_State *lua, int index) {
  size_t size = 0;
  const char *text = lua_tolstring(lua, index, &size);
  return {text, size};
}

class SampleViews;
class Recorder;  // records the calls of constructors in a pipeline file: evaluate.cpp

class LuaState {
 public:
  // `library` is the folder of atalaya's own Lua files.
  explicit LuaState(std::string library);
  LuaState(const LuaState &) = delete;
  LuaState &operator=(const LuaState &) = delete;
  ~LuaState();

  lua_State *raw() { return lua_; }
  static LuaState &of(lua_State *lua) { return **static_cast<LuaState **>(lua_getextraspace(lua)); }

  struct Failure {
    Location where;  // line 0: unknown
    std::string text;
  };

  // Reads and compiles a pipeline file; the function is on the stack if ok. Its digest joins that of all files. Each file has its
  // own global variables and modules, which it reads from its own folder.
  bool load(const std::string &path, Failure &failure);
  // The same of a text that is in no file.
  bool load_text(std::string text, Failure &failure);

  // Begins a stretch of calls that share one limit of time; end_limit ends it.
  void begin_limit(int64_t limit_ns);
  void end_limit();
  bool timed_out() const { return timed_out_; }
  // lua_pcall with limits and file:line messages. On failure the stack is as before the function and its arguments.
  bool call(int arguments, int results);
  Failure failure();  // of the last call that failed

  // Without a limit of memory nothing that only allocates can raise: for reading results out from C++.
  void lift_memory_limit() { heap_.set_limit(SIZE_MAX); }
  void restore_memory_limit() { heap_.set_limit(LuaLimits::kMemory); }

  const std::vector<std::string> &files() const { return files_; }
  const std::map<std::string, std::string, std::less<>> &texts() const { return texts_; }  // of these files
  std::string digest() const;

  // Counts work that a C function did without instructions; raises when the time is over.
  void charge(uint64_t steps);

  // For `require` in the pipeline file of this number: pushes the compiled module and its three arguments, or raises.
  void load_module(const char *name, size_t file);

  // Set while a pipeline file is evaluated, null when its functions run.
  Recorder *recorder() { return recorder_; }
  void set_recorder(Recorder *recorder) { recorder_ = recorder; }

  // Set while functions may run on samples.
  SampleViews *views() { return views_; }
  void set_views(SampleViews *views) { views_ = views; }

  // The third argument of the library file atalaya: a table of functions. Pops it from the stack.
  void set_native();

 private:
  friend struct LuaCallbacks;  // the C functions, in lua_state.cpp and lua_base.cpp

  bool out_of_time();
  void trip();
  void note_place();
  [[noreturn]] void raise_timeout();
  bool read_source(const std::string &path, bool of_library) noexcept;
  bool compile(const std::string &chunk, Failure &failure);
  bool find_module(std::string_view name, const std::string &folder) noexcept;
  static int handle_error(lua_State *lua);

  LuaHeap heap_;
  lua_State *lua_ = nullptr;
  std::string library_;
  std::vector<std::string> folders_;  // of the pipeline files: "" or ending in '/'
  std::vector<std::string> files_;
  std::map<std::string, std::string, std::less<>> texts_;
  uint64_t digest_ = 0xcbf29ce484222325;
  int native_ = LUA_NOREF;
  Recorder *recorder_ = nullptr;
  SampleViews *views_ = nullptr;

  int64_t limit_ns_ = 0, wall_deadline_ns_ = 0, cpu_deadline_ns_ = 0;
  bool limited_ = false, timed_out_ = false;
  uint64_t charged_ = 0;

  // Of the module that is being read.
  std::string chunk_, source_, problem_;
  // The place of the last failure, kept without allocating: the chunk's name (with '@') and a line.
  char failed_chunk_[4096] = "";
  int failed_line_ = 0;
  Failure failure_;
};

// luaL_error, for where it must be plain that it does not return.
[[noreturn]] void raise_error(lua_State *lua, const char *text);

void open_base_library(lua_State *lua);  // lua_base.cpp: base functions, os, bounded tables
// Gives the function on the stack global variables of its own, with a `require` for the file of this number.
void isolate_globals(lua_State *lua, size_t file);
void open_string_library(lua_State *lua);  // lua_strings.cpp: string functions on bounded patterns
// Lets every C function of the table on the stack count the bytes that it is given as work.
void charge_functions(lua_State *lua);

}  // namespace atalaya::core
