// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace atalaya::core {

// Memory that is given out piece by piece and taken back all at once. reset keeps the blocks, so that a recycled arena allocates
// nothing in steady state. One thread at a time.
class Arena {
 public:
  Arena() = default;
  explicit Arena(size_t first_block) : first_block_(first_block) {}
  // Gives out that memory of somebody else's and no other.
  Arena(std::byte *memory, size_t size) : at_(reinterpret_cast<uintptr_t>(memory)), end_(at_ + size), fixed_(true) {}
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  // Never null; throws std::bad_alloc. The alignment is a power of two up to 64.
  void *allocate(size_t size, size_t alignment = 8);
  void reset();  // not with somebody else's memory

  size_t used() const { return used_; }          // bytes given out since the last reset
  size_t reserved() const { return reserved_; }  // bytes held
  // Returns unused memory of a recycled arena: all blocks, when less than a quarter was used.
  void trim();

 private:
  struct Block {
    std::unique_ptr<std::byte[]> data;
    size_t size;
  };
  void next_block(size_t at_least);

  std::vector<Block> blocks_;
  size_t current_ = 0;  // the block that is being filled; valid if blocks_ is not empty
  uintptr_t at_ = 0, end_ = 0;
  size_t used_ = 0, reserved_ = 0;
  size_t first_block_ = size_t{64} << 10;
  bool fixed_ = false;
};

}  // namespace atalaya::core
