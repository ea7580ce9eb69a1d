// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

namespace atalaya::core {

// The memory of one Lua state, up to a limit. Small blocks are recycled in free lists by size, so that steady work calls no
// malloc. One thread.
class LuaHeap {
 public:
  explicit LuaHeap(size_t limit) : limit_(limit) {}
  LuaHeap(const LuaHeap &) = delete;
  LuaHeap &operator=(const LuaHeap &) = delete;
  ~LuaHeap();

  // As lua_Alloc: null if the limit is reached or memory is exhausted; shrinking never fails.
  void *resize(void *block, size_t old_size, size_t new_size) noexcept;

  size_t used() const { return used_; }
  size_t limit() const { return limit_; }
  void set_limit(size_t limit) { limit_ = limit; }

 private:
  static constexpr size_t kGrain = 16, kSmallest = 512, kChunk = 65536;
  struct Free {
    Free *next;
  };
  struct Chunk {
    Chunk *next;
    alignas(kGrain) std::byte data[kChunk];
  };

  void *take(size_t size) noexcept;
  void release_block(void *block, size_t size) noexcept;

  size_t limit_, used_ = 0;
  std::array<Free *, kSmallest / kGrain> free_{};
  Chunk *chunks_ = nullptr;
  std::byte *at_ = nullptr, *end_ = nullptr;
};

}  // namespace atalaya::core
