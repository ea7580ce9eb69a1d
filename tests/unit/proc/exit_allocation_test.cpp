// SPDX-License-Identifier: Apache-2.0
// Windows of exits cost no allocation. In a program of its own, as it replaces operator new.
#include <doctest/doctest.h>

#include <cstdlib>
#include <new>
#include <string>

#include "plugins/sources/proc/exit_model.h"

namespace {
size_t allocations = 0;
}

void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept {
  std::free(memory);
}
void operator delete(void *memory, size_t) noexcept {
  std::free(memory);
}

namespace atalaya::proc {
namespace {

TEST_CASE("a window of exits allocates nothing, with more names than there are groups too") {
  const size_t at_first = allocations;
  ExitModel model(16);
  CHECK(allocations > at_first);  // the counter counts
  const size_t before = allocations;
  for (int window = 0; window < 3; ++window) {
    model.begin();
    for (char name = 1; name != 127; ++name) {
      ExitReading exit;
      exit.last.name = Name({&name, 1});
      Counters used;
      used.set(Counter::user_ns, static_cast<uint64_t>(name));
      model.add(exit, used);
    }
    if (model.groups().size() != 17) FAIL("groups are missing");
  }
  CHECK(allocations == before);
}

}  // namespace
}  // namespace atalaya::proc
