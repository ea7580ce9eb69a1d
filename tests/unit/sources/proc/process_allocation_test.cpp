// SPDX-License-Identifier: Apache-2.0
// A window costs no allocation once it is like the one before.
#include <doctest/doctest.h>

#include "plugins/sources/proc/process/process_collector.h"
#include "tests/unit/count_allocations.h"
#include "tests/unit/sources/proc/process_test_host.h"

namespace atalaya::proc {
namespace {

struct Windows {
  uint64_t first = 0, last = 0;  // allocations in them
};

Windows allocations_in_windows(ProcessOptions options) {
  TestHost host;
  ProcessCollector collector(host.host(), std::move(options));
  collector.start();
  core::Batch batch;
  Windows result;
  for (int window = 0; window < 4; ++window) {
    batch.clear();
    Batch wrapped(host.host(), &batch.raw());
    const Window now = host.next_window();
    const uint64_t before = testing::allocations();
    collector.collect(now, wrapped);
    result.last = testing::allocations() - before;
    if (window == 0) result.first = result.last;
    REQUIRE(batch.count() == (window == 0 ? 4 : 6));  // from the second on with irq and unattributed
  }
  return result;
}

TEST_CASE("a window of known processes allocates nothing") {
  for (const std::vector<std::string> &tags : {std::vector<std::string>{}, {"user", "parent"}}) {
    const Windows windows = allocations_in_windows({.root = "tests/fixtures/proc/states", .tags = tags});
    CHECK(windows.first > 0);  // the counter counts
    CHECK(windows.last == 0);
  }
}

}  // namespace
}  // namespace atalaya::proc
