// SPDX-License-Identifier: Apache-2.0
// A sample as an inline function sees it: s.tags.process, s.fields["proc.cpu.user"], s.time, s.duration, s.kind, s.text.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/config/lua_state.h"
#include "core/sample/batch.h"
#include "core/sample/symbols.h"

namespace atalaya::core {

// Makes the views of one Lua state. A view is a small userdata that holds the number of its call, so that one that was kept after
// its call raises instead of showing another sample. Lives as long as the state is used.
class SampleViews {
 public:
  SampleViews(LuaState &state, Symbols &symbols);
  SampleViews(const SampleViews &) = delete;
  SampleViews &operator=(const SampleViews &) = delete;

  enum Answer : int { kDropped, kKept, kOther };
  // Pushes a C function that takes a Lua function, calls it with a view of the sample and returns an Answer, and for kOther the
  // type that was returned.
  void push_runner() { lua_rawgeti(lua_, LUA_REGISTRYINDEX, runner_); }

  // The sample that the next call is about; hide when it is over.
  void show(Batch &batch, atalaya_sample &sample);
  void hide();

 private:
  struct Callbacks;
  enum Word : int { kTags, kFields, kTime, kDuration, kKind, kText, kWords };

  uint32_t known_id(std::string_view name, bool field) const;
  uint32_t new_id(std::string_view name) noexcept;
  bool set_tag(uint32_t id, std::string_view value) noexcept;
  bool set_field(const atalaya_field &field) noexcept;
  bool remove(uint32_t id, bool field) noexcept;
  bool set_text(std::string_view text) noexcept;
  bool own_arrays() noexcept;

  lua_State *lua_;
  Symbols &symbols_;
  Batch *batch_ = nullptr;
  atalaya_sample *sample_ = nullptr;
  lua_Integer call_ = 0;
  int runner_ = LUA_NOREF;
  size_t cached_ = 0;
  const char *words_[kWords] = {};  // Lua keeps one copy of a short string, so that names are compared by address
};

}  // namespace atalaya::core
