// SPDX-License-Identifier: Apache-2.0
// The Lua view of a sample in an inline function: s.tags.process, s.fields["proc.cpu.user"], s.time, s.duration, s.kind, s.text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "core/config/functions/sample_edit.h"
#include "core/config/lua/lua_state.h"

namespace atalaya::core {

// Runs the functions of one Lua state on samples. A view contains the number of its call; the use of a view after its call raises
// a Lua error, because the sample is another one then. Must exist as long as the state is used.
class SampleViews {
 public:
  SampleViews(LuaState &state, Symbols &symbols);
  SampleViews(const SampleViews &) = delete;
  SampleViews &operator=(const SampleViews &) = delete;

  enum class Verdict : uint8_t { kept, dropped, failed };

  // Starts a batch, which the next runs change; limits the bytes that they add to it.
  void start(Batch &batch);
  bool has_next() const { return next_ < verdicts_.size(); }
  // Calls a function of the Lua registry for the remaining samples, up to the first error of a call or of the state's limits.
  // False after an error; the next run continues after that sample.
  bool run(int function);
  // The result of a sample. It is `failed` before the call, and if the function returned neither the sample nor nil.
  Verdict verdict(uint64_t sample) const { return verdicts_[sample]; }
  const char *wrong_type() const { return wrong_type_; }  // the first wrong type that a function returned; null: none

 private:
  struct Callbacks;
  // A cache slot: a Lua string, compared by address, and its id. A Lua table references the strings of all slots, so that no other
  // string gets the address.
  struct CachedId {
    const void *name = nullptr;
    uint32_t id = 0;
  };
  static constexpr int kSlotBits = 10, kSlots = 1 << kSlotBits;
  enum Member : int { kTags, kFields, kTime, kDuration, kKind, kText, kUnit, kMetricKind, kMembers };

  uint32_t known_id(std::string_view name, bool field) const;
  uint32_t new_id(std::string_view name) noexcept;
  void select(atalaya_sample &sample) {
    sample_ = &sample;
    edit_.select(sample);
  }

  LuaState &state_;
  lua_State *lua_;
  Symbols &symbols_;
  SampleEdit edit_;
  Batch *batch_ = nullptr;
  atalaya_sample *sample_ = nullptr;
  lua_Integer call_ = 0;
  std::vector<Verdict> verdicts_;
  uint64_t next_ = 0;
  const char *wrong_type_ = nullptr;
  int runner_ = LUA_NOREF;
  std::array<CachedId, kSlots> ids_{};
  const void *members_[kMembers] = {};  // addresses of the names: Lua has one copy of each short string
};

}  // namespace atalaya::core
