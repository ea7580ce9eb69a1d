// SPDX-License-Identifier: Apache-2.0
#include "core/config/lua/lua_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "core/base/files.h"
#include "core/base/now.h"
#include "core/base/text/text.h"
#include "core/base/text/units.h"

namespace atalaya::core {
namespace {

constexpr size_t kLargeBlock = 65536;        // allocations of this size check the time
constexpr uint64_t kChargedSteps = 100'000;  // steps in C after which the time is checked
constexpr int kLevels = 1000;                // of the stack that are searched for a location

// A regular file, read without waiting for a pipe or a device.
Result<std::string> read_text(const std::string &path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return Error{"cannot be read: " + error_text(errno)};
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return Error{"cannot be read: " + error_text(errno)};
  if (S_ISDIR(info.st_mode)) return Error{"is a folder; name a Lua file in it"};
  if (!S_ISREG(info.st_mode)) return Error{"is not a regular file"};
  auto text = read_file(path, LuaLimits::kFile);
  if (!text) return Error{"is larger than " + format_size(LuaLimits::kFile) + ", the limit of a Lua file"};
  return text;
}

// Also resolves symbolic links: the error message of a file that is not a module would show a part of its content.
bool lies_below(const std::string &path, const std::string &folder) {
  std::error_code error;
  const auto inside = std::filesystem::canonical(folder.empty() ? "." : folder, error) / "";
  const auto place = error ? std::filesystem::path() : std::filesystem::canonical(path, error);
  return !error && place.native().starts_with(inside.native());
}

// How Lua abbreviates a chunk's name in messages.
std::string short_name(lua_State *lua, const std::string &chunk) {
  lua_Debug info{};
  if (luaL_loadbufferx(lua, "", 0, chunk.c_str(), "t") != LUA_OK) {
    lua_pop(lua, 1);
    return "";
  }
  lua_getinfo(lua, ">S", &info);
  return info.short_src;
}

// "name:12: text" -> 12 and "text"; 0 when the message has no such beginning.
int take_line(std::string_view name, std::string_view &message) {
  if (message.substr(0, name.size()) != name) return 0;
  std::string_view rest = message.substr(name.size());
  if (rest.empty() || rest.front() != ':') return 0;
  int line = 0;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), line);
  if (error != std::errc()) return 0;
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  if (rest.substr(0, 2) != ": ") return 0;
  message = rest.substr(2);
  return line;
}

// Error values may contain any bytes.
std::string one_line(std::string_view text) {
  static constexpr size_t kLongest = 500;
  std::string line(text.substr(0, kLongest));
  for (char &c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return line;
}

}  // namespace

struct LuaCallbacks {
  static void *allocate(void *data, void *block, size_t old_size, size_t new_size) noexcept {
    LuaState &state = *static_cast<LuaState *>(data);
    // For a new block, old_size is the kind of object.
    const bool long_string = block == nullptr && old_size == LUA_TSTRING && new_size > LuaLimits::kString + 64;
    void *result = nullptr;
    const bool late = new_size >= kLargeBlock && state.out_of_time();
    if (!late && (!long_string || state.heap_.limit() == SIZE_MAX)) result = state.heap_.resize(block, old_size, new_size);
    if (result != nullptr || new_size == 0) return result;
    if (block != nullptr && new_size <= old_size) return block;
    state.note_place();
    if (late || state.out_of_time()) state.trip();
    return nullptr;
  }

  static void count(lua_State *lua, lua_Debug *) {
    LuaState &state = LuaState::from_lua(lua);
    if (!state.timed_out_ && !state.out_of_time()) return;
    state.raise_timeout();
  }
};

LuaState::LuaState(std::string library) : heap_(SIZE_MAX), library_(std::move(library)) {
  lua_ = lua_newstate(LuaCallbacks::allocate, this);
  if (lua_ == nullptr) throw std::bad_alloc();
  *static_cast<LuaState **>(lua_getextraspace(lua_)) = this;
  open_base_library(lua_);
  open_string_library(lua_);
  restore_memory_limit();
}

LuaState::~LuaState() {
  lua_close(lua_);
}

std::string LuaState::digest() const {
  char text[17] = "";
  const auto end = std::to_chars(text, text + sizeof(text), digest_, 16).ptr;
  return {text, end};
}

void LuaState::set_native() {
  native_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
}

// ---- Files
// ------------------------------------------------------------------------------------------------------------------------

bool LuaState::read_source(const std::string &path, bool from_library) noexcept {
  try {
    auto text = read_text(path);
    if (!text) {
      problem_ = text.error();
      return false;
    }
    source_ = std::move(*text);
    if (source_.substr(0, 2) == "#!") source_.insert(0, "--");
    if (!from_library) {
      files_.push_back(path);
      texts_[path] = source_;
    }
    for (const char c : source_) digest_ = (digest_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return true;
  } catch (const std::bad_alloc &) {
    problem_.clear();
    return false;
  }
}

bool LuaState::find_module(std::string_view name, const std::string &folder) noexcept {
  static constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  try {
    const bool proper = !name.empty() && name.find_first_not_of(kAllowed) == std::string_view::npos && name.front() != '.' &&
                        name.back() != '.' && name.find("..") == std::string_view::npos;
    if (!proper) {
      problem_ = in_quotes(name) + " is not the name of a module; write letters, digits and _, with dots between folders";
      return false;
    }
    std::string relative(name);
    for (char &c : relative)
      if (c == '.') c = '/';
    for (const auto &[path, from_library] :
         {std::pair(library_ + "/" + relative + ".lua", true), std::pair(library_ + "/" + relative + "/init.lua", true),
          std::pair(folder + relative + ".lua", false)}) {
      std::error_code error;
      if (!std::filesystem::exists(path, error)) continue;
      if (!from_library && !lies_below(path, folder)) {
        problem_ = path + " leads out of the folder of the pipeline file; put the file itself there";
        return false;
      }
      chunk_ = from_library ? "=" + std::string(name) : "@" + path;
      if (read_source(path, from_library)) return true;
      problem_.insert(0, path + " ");
      return false;
    }
    problem_ = name == "atalaya" ? "atalaya/init.lua is not in " + library_ + "; set ATALAYA_LUA to the folder that holds it"
                                 : "there is no module " + in_quotes(name) + " in atalaya's library or next to this file";
    return false;
  } catch (const std::bad_alloc &) {
    problem_.clear();
    return false;
  }
}

void LuaState::load_module(const char *name, size_t file) {
  if (!find_module(name, folders_[file])) luaL_error(lua_, "%s", problem_.c_str());
  const bool native = chunk_ == "=atalaya";
  if (luaL_loadbufferx(lua_, source_.data(), source_.size(), chunk_.c_str(), "t") != LUA_OK) lua_error(lua_);
  lua_pushstring(lua_, name);
  lua_pushstring(lua_, chunk_.c_str() + 1);
  if (native) {
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, native_);
  } else {
    lua_pushnil(lua_);
  }
}

bool LuaState::load(const std::string &path, Failure &failure) {
  failure = {{path, 0}, ""};
  if (!read_source(path, false)) {
    failure.text = problem_;
    return false;
  }
  if (!compile("@" + path, failure)) return false;
  folders_.push_back(path.substr(0, path.rfind('/') + 1));
  lift_memory_limit();
  isolate_globals(lua_, folders_.size() - 1);
  restore_memory_limit();
  return true;
}

bool LuaState::load_text(std::string text, Failure &failure) {
  failure = {};
  source_ = std::move(text);
  return compile("=text", failure);
}

// The content of source_.
bool LuaState::compile(const std::string &chunk, Failure &failure) {
  if (luaL_loadbufferx(lua_, source_.data(), source_.size(), chunk.c_str(), "t") == LUA_OK) return true;
  size_t size = 0;
  const char *text = lua_tolstring(lua_, -1, &size);
  std::string_view message(text, size);
  failure.where.line = take_line(short_name(lua_, chunk), message);
  failure.text = message;
  lua_pop(lua_, 1);
  return false;
}

// ---- Limits
// -----------------------------------------------------------------------------------------------------------------------

void LuaState::start_limit(int64_t limit_ns) {
  limit_ns_ = limit_ns;
  wall_deadline_ns_ = clock_ns(CLOCK_MONOTONIC) + limit_ns;
  cpu_deadline_ns_ = clock_ns(CLOCK_THREAD_CPUTIME_ID) + limit_ns;
  limited_ = true;
  timed_out_ = false;
  charged_ = 0;
  lua_sethook(lua_, LuaCallbacks::count, LUA_MASKCOUNT, LuaLimits::kHookInstructions);
}

void LuaState::end_limit() {
  limited_ = false;
  lua_sethook(lua_, nullptr, 0, 0);
}

// CPU time cannot exceed wall-clock time, which is cheaper to read.
bool LuaState::out_of_time() {
  if (!limited_) return false;
  return timed_out_ || (clock_ns(CLOCK_MONOTONIC) > wall_deadline_ns_ && clock_ns(CLOCK_THREAD_CPUTIME_ID) > cpu_deadline_ns_);
}

// After the limit every instruction raises an error, so that a loop around pcall also ends.
void LuaState::trip() {
  timed_out_ = true;
  lua_sethook(lua_, LuaCallbacks::count, LUA_MASKCOUNT, 1);
}

void LuaState::raise_timeout() {
  trip();
  lua_pushliteral(lua_, "out of time");
  lua_error(lua_);
  __builtin_unreachable();
}

void LuaState::charge(uint64_t steps) {
  charged_ += steps;
  if (charged_ < kChargedSteps) return;
  charged_ = 0;
  if (out_of_time()) raise_timeout();
}

// ---- Calls and failures
// -----------------------------------------------------------------------------------------------------------

// The line of the innermost function of a file. Allocates nothing.
void LuaState::note_place() {
  lua_Debug info{};
  for (int level = 0; level < kLevels && lua_getstack(lua_, level, &info) != 0; ++level) {
    lua_getinfo(lua_, "Sl", &info);
    if (info.source[0] != '@' || info.currentline <= 0) continue;
    std::strncpy(failed_chunk_, info.source, sizeof(failed_chunk_) - 1);
    failed_line_ = info.currentline;
    return;
  }
}

// Replaces the error by its text and stores the position. Lua shortens long names in messages, so the position is read from the
// stack; a position in the pipeline file has priority over one in a library.
int LuaState::handle_error(lua_State *lua) {
  LuaState &state = from_lua(lua);
  state.failed_line_ = 0;
  state.note_place();
  if (lua_type(lua, 1) != LUA_TSTRING) {
    lua_pushfstring(lua, "a %s was raised as an error", luaL_typename(lua, 1));
    return 1;
  }
  const char *text = lua_tostring(lua, 1);
  lua_Debug info{};
  for (int level = 0; level < kLevels && lua_getstack(lua, level, &info) != 0; ++level) {
    lua_getinfo(lua, "Sl", &info);
    if (info.currentline <= 0) continue;
    const char *prefix = lua_pushfstring(lua, "%s:%d: ", info.short_src, info.currentline);
    const size_t size = std::strlen(prefix);
    if (std::strncmp(text, prefix, size) != 0) {
      lua_pop(lua, 1);
      continue;
    }
    if (info.source[0] == '@' || state.failed_line_ == 0) {
      std::strncpy(state.failed_chunk_, info.source, sizeof(state.failed_chunk_) - 1);
      state.failed_line_ = info.currentline;
    }
    lua_pushstring(lua, text + size);
    return 1;
  }
  lua_pushvalue(lua, 1);
  return 1;
}

bool LuaState::call(int arguments, int results) {
  const int function = lua_gettop(lua_) - arguments;
  lua_pushcfunction(lua_, handle_error);
  lua_insert(lua_, function);
  const int status = lua_pcall(lua_, arguments, results, function);
  if (status == LUA_OK) {
    lua_remove(lua_, function);
    return true;
  }
  failure_ = {};
  if (failed_line_ > 0) failure_.where = {failed_chunk_ + 1, failed_line_};
  if (timed_out_) {  // set by the hook, or by refusing memory
    failure_.text =
        "stopped after " + format_duration(limit_ns_ - limit_ns_ % 1'000'000) + " of computing; is there an endless loop?";
  } else if (status == LUA_ERRMEM) {
    failure_.text = "more memory than a pipeline file may use: " + format_size(LuaLimits::kMemory) + " in all, " +
                    format_size(LuaLimits::kString) + " in one string";
  } else if (const char *text = lua_tostring(lua_, -1)) {
    failure_.text = one_line(text);
  }
  lua_settop(lua_, function - 1);
  return false;
}

LuaState::Failure LuaState::failure() {
  return failure_;
}

void raise_error(lua_State *lua, const char *text) {
  luaL_error(lua, "%s", text);
  __builtin_unreachable();
}

}  // namespace atalaya::core
