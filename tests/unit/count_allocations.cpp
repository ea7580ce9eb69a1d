// SPDX-License-Identifier: Apache-2.0
// A separate file: if the compiler sees these together with a new-expression, it takes malloc and delete for a mismatch.
#include "tests/unit/count_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<uint64_t> g_all{0};
thread_local uint64_t t_mine = 0;

void *counted(std::size_t size) noexcept {
  ++g_all;
  ++t_mine;
  return std::malloc(size > 0 ? size : 1);
}

}  // namespace

uint64_t atalaya::testing::allocations() {
  return t_mine;
}
uint64_t atalaya::testing::allocations_of_all_threads() {
  return g_all;
}

// The forms for arrays call these.
void *operator new(std::size_t size) {
  if (void *memory = counted(size)) return memory;
  throw std::bad_alloc();
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
  return counted(size);
}
void operator delete(void *memory) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
  std::free(memory);
}
