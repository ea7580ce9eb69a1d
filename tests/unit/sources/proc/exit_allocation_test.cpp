// SPDX-License-Identifier: Apache-2.0
// Windows of exits cost no allocation.
#include <doctest/doctest.h>

#include <string>

#include "plugins/sources/proc/exits/exit_model.h"
#include "tests/unit/count_allocations.h"

namespace atalaya::proc {
namespace {

TEST_CASE("a window of exits allocates nothing, also with more names than groups") {
  const uint64_t at_first = testing::allocations();
  ExitModel model(16);
  CHECK(testing::allocations() > at_first);  // the counter counts
  const uint64_t before = testing::allocations();
  for (int window = 0; window < 3; ++window) {
    model.begin();
    for (char name = 1; name != 127; ++name) {
      ExitReading exit;
      exit.last.name = procfs::Name({&name, 1});
      Counters used;
      used.set(procfs::Counter::user_ns, static_cast<uint64_t>(name));
      model.add(exit, used);
    }
    if (model.groups().size() != 17) FAIL("groups are missing");
  }
  CHECK(testing::allocations() == before);
}

}  // namespace
}  // namespace atalaya::proc
