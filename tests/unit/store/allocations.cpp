// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/store/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<uint64_t> calls{0};
}  // namespace

uint64_t atalaya::store::test::allocations() {
  return calls.load();
}

void *operator new(std::size_t size) {
  ++calls;
  if (void *memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
  std::free(memory);
}
