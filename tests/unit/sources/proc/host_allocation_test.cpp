// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "plugins/sources/proc/cgroup/cgroup_collector.h"
#include "plugins/sources/proc/host/host_collector.h"
#include "tests/unit/count_allocations.h"
#include "tests/unit/sources/proc/host_fixture.h"

namespace atalaya::proc {
namespace {

using namespace test;
using testing::allocations_of_all_threads;

template <class Collector>
uint64_t allocations_of_a_later_window(FakeHost &fake, Collector &collector) {
  core::Batch batch;
  Window window{};
  uint64_t before = 0;
  for (int i = 0; i < 4; ++i) {
    before = allocations_of_all_threads();
    batch.clear();
    fake.now_ns += kSecond;
    window.monotonic_ns = fake.now_ns;
    Batch wrapped(fake.host(), &batch.raw());
    collector.collect(window, wrapped);
    REQUIRE_FALSE(wrapped.samples().empty());
  }
  return allocations_of_all_threads() - before;
}

TEST_CASE("a window like the one before allocates nothing") {
  FakeHost fake;
  TempRoot root;
  root.load("laptop/a");
  HostOptions options;
  options.root = root.path();
  HostCollector host(fake.host(), options);
  host.start();
  CHECK(allocations_of_a_later_window(fake, host) == 0);
  CgroupCollector cgroups(fake.host(), {root.path(), 1000, 8});
  cgroups.start();
  CHECK(allocations_of_a_later_window(fake, cgroups) == 0);
  CHECK(allocations_of_all_threads() > 0);  // they are counted at all
}

TEST_CASE("asking the same file systems again allocates nothing") {
  FileSystemSpaces spaces({.query = [](const std::string &) { return Space{}; }, .wait = std::chrono::seconds(60)});
  spaces.start();
  const std::vector<FileSystem> mounts = {{"8:1", "a", "/"}, {"8:2", "b", "/a mount point longer than a short string"}};
  uint64_t before = 0;
  for (int i = 0; i < 4; ++i) {
    before = allocations_of_all_threads();
    REQUIRE(spaces.query(mounts)[1]);
  }
  CHECK(allocations_of_all_threads() == before);
}

}  // namespace
}  // namespace atalaya::proc
