// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "plugins/sources/proc/cgroup_collector.h"
#include "plugins/sources/proc/host_collector.h"
#include "tests/unit/proc/host_fixture.h"

namespace {
std::atomic<uint64_t> allocations = 0;  // of every thread
}

[[gnu::noinline]] void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
// Not inlined, any of them: GCC would see malloc or free on one side only, and call it a mismatch.
[[gnu::noinline]] void operator delete(void *memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept {
  std::free(memory);
}

namespace atalaya::proc {
namespace {

using namespace test;

template <class Collector>
uint64_t allocations_of_a_later_window(FakeHost &fake, Collector &collector) {
  core::Batch batch;
  Window window{};
  uint64_t before = 0;
  for (int i = 0; i < 4; ++i) {
    before = allocations;
    batch.clear();
    fake.now_ns += kSecond;
    Batch wrapped(fake.host(), &batch.raw());
    collector.collect(window, wrapped);
    REQUIRE_FALSE(wrapped.samples().empty());
  }
  return allocations - before;
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
  CHECK(allocations > 0);  // they are counted at all
}

TEST_CASE("asking the same file systems again allocates nothing") {
  FileSystemSpaces spaces({.ask = [](const std::string &) { return Space{}; }, .patience = std::chrono::seconds(60)});
  spaces.start();
  const auto mounts = std::make_shared<const std::vector<FileSystem>>(3);
  uint64_t before = 0;
  for (int i = 0; i < 4; ++i) {
    before = allocations;
    REQUIRE(spaces.ask(mounts));
    REQUIRE(spaces.answers().size() == 3);
  }
  CHECK(allocations == before);
}

}  // namespace
}  // namespace atalaya::proc
