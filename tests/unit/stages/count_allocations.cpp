// SPDX-License-Identifier: Apache-2.0
// A file of its own: where the compiler sees these next to a new-expression, it takes malloc and delete for a mismatch.
#include "tests/unit/stages/count_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<uint64_t> g_allocations{0};
}

uint64_t atalaya::testing::allocations() {
  return g_allocations;
}

void *operator new(std::size_t size) {
  ++g_allocations;
  if (void *memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
  ++g_allocations;
  return std::malloc(size > 0 ? size : 1);
}
void operator delete(void *memory) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
  std::free(memory);
}
