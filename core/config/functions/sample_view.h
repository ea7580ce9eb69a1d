// SPDX-License-Identifier: Apache-2.0
// A sample as an inline function sees it: s.tags.process, s.fields["proc.cpu.user"], s.time, s.duration, s.kind, s.text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "core/config/lua/lua_state.h"
#include "core/config/functions/sample_edit.h"

namespace atalaya::core {

// Runs the functions of one Lua state on samples. A function sees a view, which is the number of its call: one that was kept after
// its call raises instead of showing another sample. Lives as long as the state is used.
class SampleViews {
 public:
  SampleViews(LuaState &state, Symbols &symbols);
  SampleViews(const SampleViews &) = delete;
  SampleViews &operator=(const SampleViews &) = delete;

  enum class Verdict : uint8_t { kept, dropped, failed };

  // The batch that the next runs change; the bytes that they add from here on are limited.
  void begin(Batch &batch);
  bool more() const { return next_ < verdicts_.size(); }
  // Calls a function of the registry with the samples that are left, up to the first error: of the call, or of the state's limits.
  // False after an error; the next run continues after that sample.
  bool run(int function);
  // Of a sample of the batch. `failed` also before its call, and when the function returned something else than the sample or nil.
  Verdict verdict(uint64_t sample) const { return verdicts_[sample]; }
  const char *wrong_type() const { return wrong_type_; }  // of the first such result; null: none

 private:
  struct Callbacks;
  // A name by its address in Lua. A table of Lua holds the names of all slots, so that no other one gets the address.
  struct Remembered {
    const void *name = nullptr;
    uint32_t id = 0;
  };
  static constexpr int kSlotBits = 10, kSlots = 1 << kSlotBits;
  enum Word : int { kTags, kFields, kTime, kDuration, kKind, kText, kUnit, kMetricKind, kWords };

  uint32_t known_id(std::string_view name, bool field) const;
  uint32_t new_id(std::string_view name) noexcept;
  void show(atalaya_sample &sample) {
    sample_ = &sample;
    edit_.show(sample);
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
  std::array<Remembered, kSlots> ids_{};
  const void *words_[kWords] = {};  // Lua keeps one copy of a short string, so that names are compared by address
};

}  // namespace atalaya::core
