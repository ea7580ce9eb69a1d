// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/counters/event_set.h"

#include <doctest/doctest.h>

#include "tests/unit/sources/counters/fake_calls.h"

namespace atalaya::counters {
namespace {

using test::FakeCalls;

struct Kernel {
  explicit Kernel(size_t limit = 1000, bool with_kernel = true) : opener(calls, limit, with_kernel) {}
  int open(const Slots &wanted, const Scope &scope = {.cpu = 0}) { return set.open(opener, scope, 0, wanted); }
  Tally read() {
    Tally tally;
    set.read(opener, 1000, tally);
    return tally;
  }
  size_t leaders() const {
    return static_cast<size_t>(
        std::count_if(calls.events.begin(), calls.events.end(), [](const auto &item) { return item.second.leader < 0; }));
  }
  FakeCalls calls;
  Opener opener;
  EventSet set;
};

Slots all() {
  return Slots().set();
}

Slots some(std::initializer_list<size_t> wanted) {
  Slots slots;
  for (const size_t slot : wanted) slots.set(slot);
  return slots;
}

const Scope kCpu0 = {.cpu = 0};

}  // namespace

TEST_CASE("every event is opened in a group of its kind") {
  Kernel kernel;
  REQUIRE(kernel.open(all()) == 0);
  CHECK(kernel.calls.events.size() == kSlots);
  CHECK(kernel.leaders() == kGroups);
  for (const auto &[event, opened] : kernel.calls.events) {
    CHECK_FALSE(opened.attributes.inherit);
    CHECK_FALSE(opened.attributes.exclude_kernel);
    CHECK(opened.attributes.read_format == (PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING));
  }
}

TEST_CASE("the difference of two readings is the count between them") {
  Kernel kernel;
  REQUIRE(kernel.open(all()) == 0);
  kernel.calls.at(kCpu0) = {100, 100, {{kCycles, 1000}, {kInstructions, 700}}};
  CHECK(kernel.read().count(kCycles) == 1000.0);  // from the opening
  kernel.calls.at(kCpu0) = {300, 200, {{kCycles, 1500}, {kInstructions, 1700}}};
  const Tally tally = kernel.read();
  CHECK(tally.count(kCycles) == 1000.0);  // 500 in half of the time
  CHECK(tally.count(kInstructions) == 2000.0);
  CHECK(tally.count(kBranchInstructions) == 2000.0);
  CHECK(tally.running() == 50.0);
  CHECK(kernel.read().count(kCycles) == 0.0);
}

TEST_CASE("an event that leads no group is led by the next that is there") {
  Kernel kernel;
  REQUIRE(kernel.open(some({kInstructions, kStalledBackend, kSwitches})) == 0);
  CHECK(kernel.leaders() == 2);
  kernel.calls.at(kCpu0) = {10, 10, {{kInstructions, 5}, {kStalledBackend, 2}, {kSwitches, 1}}};
  const Tally tally = kernel.read();
  CHECK(tally.count(kInstructions) == 5.0);
  CHECK(tally.count(kStalledBackend) == 2.0);
  CHECK(tally.count(kSwitches) == 1.0);
  CHECK_FALSE(tally.count(kCycles));
}

TEST_CASE("a CPU with few counters gets smaller groups") {
  Kernel kernel;
  kernel.calls.group_size = 2;
  REQUIRE(kernel.open(some({kCycles, kInstructions, kStalledFrontend, kStalledBackend})) == 0);
  CHECK(kernel.leaders() == 2);
  kernel.calls.at(kCpu0) = {10, 10, {{kCycles, 8}, {kInstructions, 6}, {kStalledFrontend, 4}, {kStalledBackend, 2}}};
  const Tally tally = kernel.read();
  CHECK(tally.count(kCycles) == 8.0);
  CHECK(tally.count(kStalledFrontend) == 4.0);
  CHECK(tally.count(kStalledBackend) == 2.0);
}

TEST_CASE("beyond the limit of descriptors nothing stays open") {
  Kernel kernel(kSlots - 1);
  CHECK(kernel.open(all()) == EMFILE);
  CHECK(kernel.calls.events.empty());
  CHECK(kernel.opener.count() == 0);
  Kernel other;
  other.calls.max_open = 3;
  CHECK(other.open(all()) == EMFILE);
  CHECK(other.calls.events.empty());
}

TEST_CASE("an event that cannot be opened returns the reason") {
  Kernel kernel;
  kernel.calls.gone = {42};
  CHECK(kernel.open(all(), {.pid = 42}) == ESRCH);
  kernel.calls.offline = {7};
  CHECK(kernel.open(all(), {.cpu = 7}) == ENODEV);
  kernel.calls.denied = EACCES;
  CHECK(kernel.open(all()) == EACCES);
  CHECK(kernel.calls.events.empty());
}

TEST_CASE("threads hand their events to those that they start") {
  Kernel kernel(1000, false);
  REQUIRE(kernel.open(some({kCycles}), {.pid = 42}) == 0);
  const perf_event_attr &attributes = kernel.calls.events.begin()->second.attributes;
  CHECK(attributes.inherit);
  CHECK(attributes.inherit_thread);
  CHECK(attributes.exclude_kernel);
}

TEST_CASE("a reading that fails or goes back leaves a gap, not a number") {
  Kernel kernel;
  REQUIRE(kernel.open(some({kCycles})) == 0);
  kernel.calls.at(kCpu0) = {10, 10, {{kCycles, 8}}};
  kernel.calls.broken = true;
  CHECK_FALSE(kernel.read().count(kCycles));
  kernel.calls.broken = false;
  CHECK(kernel.read().count(kCycles) == 8.0);
  kernel.calls.at(kCpu0) = {12, 12, {{kCycles, 3}}};
  CHECK_FALSE(kernel.read().count(kCycles));
  kernel.calls.at(kCpu0) = {14, 14, {{kCycles, 7}}};
  CHECK(kernel.read().count(kCycles) == 4.0);
}

TEST_CASE("times that cannot be are no measure") {
  Kernel kernel;
  kernel.calls.at(kCpu0) = {5'000'000'000, 5'000'000'000, {{kCycles, 100}}};
  REQUIRE(kernel.open(some({kCycles, kSwitches})) == 0);
  kernel.calls.at(kCpu0) = {5'000'000'900, 5'000'000'900, {{kCycles, 150}, {kSwitches, 2}}};
  CHECK(kernel.read().count(kCycles) == 50.0);
  kernel.calls.at(kCpu0) = {9'000'000'000, 5'000'001'000, {{kCycles, 200}, {kSwitches, 5}}};  // four seconds in no time
  const Tally tally = kernel.read();
  CHECK_FALSE(tally.count(kCycles));
  CHECK(tally.count(kSwitches) == 3.0);
  kernel.calls.at(kCpu0) = {9'000'001'000, 5'000'002'000, {{kCycles, 207}, {kSwitches, 5}}};
  CHECK(kernel.read().count(kCycles) == 7.0);
}

TEST_CASE("the end closes all") {
  FakeCalls calls;
  Opener opener(calls, 1000, true);
  {
    EventSet set;
    REQUIRE(set.open(opener, kCpu0, 0, all()) == 0);
    EventSet moved = std::move(set);
    CHECK(calls.events.size() == kSlots);
  }
  CHECK(calls.events.empty());
  CHECK(opener.count() == 0);
}

TEST_CASE("each event is tried alone") {
  Kernel kernel;
  kernel.calls.lacks(kCycles);
  kernel.calls.lacks(kL1iLoads);
  const Probe found = probe(kernel.opener, kCpu0, 0, all());
  CHECK(found.error == 0);
  CHECK(found.counted.count() == kSlots - 2);
  CHECK_FALSE(found.counted[kCycles]);
  CHECK_FALSE(found.counted[kL1iLoads]);
  CHECK(kernel.calls.events.empty());
  kernel.calls.denied = EACCES;
  CHECK(probe(kernel.opener, kCpu0, 0, all()).error == EACCES);
}

}  // namespace atalaya::counters
