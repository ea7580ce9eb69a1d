// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace atalaya::core {

// An arena: allocations are freed together by `reset`, which retains the blocks for the next use. A reused arena allocates nothing
// in steady state. One thread at a time.
class Arena {
 public:
  Arena() = default;
  explicit Arena(size_t first_block) : first_block_(first_block) {}
  // Allocates only from `memory`, which the caller owns.
  Arena(std::byte *memory, size_t size) : at_(reinterpret_cast<uintptr_t>(memory)), end_(at_ + size), fixed_(true) {}
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  // Returns at least `size` bytes or throws std::bad_alloc. The alignment is a power of two up to 64.
  void *allocate(size_t size, size_t alignment = 8);
  void reset();  // not allowed if the caller owns the memory

  size_t used() const { return used_; }          // bytes allocated since the last reset
  size_t reserved() const { return reserved_; }  // bytes of all blocks
  // Frees all blocks if less than a quarter of their bytes was used since the last reset.
  void trim();

 private:
  struct Block {
    std::unique_ptr<std::byte[]> data;
    size_t size;
  };
  void next_block(size_t at_least);

  std::vector<Block> blocks_;
  size_t current_ = 0;  // index of the block that serves allocations; valid if blocks_ is not empty
  uintptr_t at_ = 0, end_ = 0;
  size_t used_ = 0, reserved_ = 0;
  size_t first_block_ = size_t{64} << 10;
  bool fixed_ = false;
};

}  // namespace atalaya::core
