// SPDX-License-Identifier: Apache-2.0
// A sample as an inline function sees it: s.tags.process, s.fields["proc.cpu.user"], s.time, s.duration, s.kind, s.text.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/batch.h"
#include "core/base/symbols.h"
#include "core/config/lua_state.h"

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

  // The batch that the next calls change; the bytes that they add from here on are limited.
  void begin(Batch &batch);
  // The sample of it that the next call is about; hide when it is over.
  void show(atalaya_sample &sample);
  void hide();

 private:
  struct Callbacks;
  enum Word : int { kTags, kFields, kTime, kDuration, kKind, kText, kUnit, kMetricKind, kWords };

  uint32_t known_id(std::string_view name, bool field) const;
  uint32_t new_id(std::string_view name) noexcept;
  uint32_t tag_index(uint32_t id) const;    // tag_count if there is none
  uint32_t field_index(uint32_t id) const;  // field_count if there is none
  bool holds(const atalaya_field &field) const;

  enum class Change { done, no_room, too_much };
  Change set_tag(uint32_t id, std::string_view value) noexcept;
  Change set_field(const atalaya_field &field) noexcept;
  Change remove_tag(uint32_t id) noexcept;
  Change remove_field(uint32_t id) noexcept;
  Change set_text(std::string_view text) noexcept;
  Change own_tags(bool one_more) noexcept;
  Change own_fields(bool one_more) noexcept;
  Change copy(std::string_view text, atalaya_str &to) noexcept;
  template <class Addition>
  Change spend(size_t bytes, Addition add) noexcept;

  lua_State *lua_;
  Symbols &symbols_;
  Batch *batch_ = nullptr;
  size_t most_bytes_ = 0;  // that the batch may hold
  atalaya_sample *sample_ = nullptr;
  lua_Integer call_ = 0;
  int runner_ = LUA_NOREF;
  size_t cached_ = 0;
  const char *words_[kWords] = {};  // Lua keeps one copy of a short string, so that names are compared by address
};

}  // namespace atalaya::core
