// SPDX-License-Identifier: Apache-2.0
#include "core/config/lua/lua_heap.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace atalaya::core {

LuaHeap::~LuaHeap() {
  while (chunks_ != nullptr) std::free(std::exchange(chunks_, chunks_->next));
}

void *LuaHeap::resize(void *block, size_t old_size, size_t new_size) noexcept {
  if (block == nullptr) old_size = 0;
  if (new_size > old_size && (new_size > limit_ || used_ - old_size > limit_ - new_size)) return nullptr;
  void *result = nullptr;
  if (old_size > kSmallest && new_size > kSmallest) {
    result = std::realloc(block, new_size);
    if (result == nullptr) return nullptr;
  } else if (new_size > 0) {
    result = take(new_size);
    if (result == nullptr) return nullptr;
    if (old_size > 0) std::memcpy(result, block, std::min(old_size, new_size));
    if (old_size > 0) release_block(block, old_size);
  } else if (old_size > 0) {
    release_block(block, old_size);
  }
  used_ = used_ - old_size + new_size;
  return result;
}

void *LuaHeap::take(size_t size) noexcept {
  if (size > kSmallest) return std::malloc(size);
  const size_t kind = (size - 1) / kGrain;
  if (Free *block = free_[kind]) {
    free_[kind] = block->next;
    return block;
  }
  const size_t rounded = (kind + 1) * kGrain;
  if (static_cast<size_t>(end_ - at_) < rounded) {
    auto *chunk = static_cast<Chunk *>(std::malloc(sizeof(Chunk)));
    if (chunk == nullptr) return nullptr;
    chunk->next = chunks_;
    chunks_ = chunk;
    at_ = chunk->data;
    end_ = at_ + kChunk;
  }
  return std::exchange(at_, at_ + rounded);
}

void LuaHeap::release_block(void *block, size_t size) noexcept {
  if (size > kSmallest) return std::free(block);
  auto *free = static_cast<Free *>(block);
  Free *&list = free_[(size - 1) / kGrain];
  free->next = list;
  list = free;
}

}  // namespace atalaya::core
