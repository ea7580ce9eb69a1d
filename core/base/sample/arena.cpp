// SPDX-License-Identifier: Apache-2.0
#include "core/base/sample/arena.h"

#include <algorithm>
#include <new>

namespace atalaya::core {
namespace {
constexpr size_t kMaxBlock = size_t{4} << 20;
}  // namespace

void *Arena::allocate(size_t size, size_t alignment) {
  uintptr_t start = (at_ + alignment - 1) & ~(alignment - 1);
  if (size > end_ || start > end_ - size || at_ == 0) {
    next_block(size + alignment);
    start = (at_ + alignment - 1) & ~(alignment - 1);
  }
  at_ = start + size;
  used_ += size;
  return reinterpret_cast<void *>(start);
}

void Arena::next_block(size_t at_least) {
  if (fixed_) throw std::bad_alloc();
  size_t next = at_ == 0 ? 0 : current_ + 1;
  while (next < blocks_.size() && blocks_[next].size < at_least) ++next;
  if (next >= blocks_.size()) {
    const size_t grown = blocks_.empty() ? first_block_ : std::min(kMaxBlock, blocks_.back().size * 2);
    const size_t size = std::max(at_least, grown);
    blocks_.push_back({std::unique_ptr<std::byte[]>(new std::byte[size]), size});
    reserved_ += size;
    next = blocks_.size() - 1;
  }
  current_ = next;
  at_ = reinterpret_cast<uintptr_t>(blocks_[next].data.get());
  end_ = at_ + blocks_[next].size;
}

void Arena::reset() {
  at_ = end_ = 0;
  current_ = 0;
  used_ = 0;
}

void Arena::trim() {
  if (used_ >= reserved_ / 4) return;
  reset();
  blocks_.clear();
  reserved_ = 0;
}

}  // namespace atalaya::core
