// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/counters/tally.h"

#include <doctest/doctest.h>

namespace atalaya::counters {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

Growth whole(uint64_t count, uint64_t time_ns = kSecond) {
  return {count, time_ns, time_ns};
}

}  // namespace

TEST_CASE("ratios are of one group, rates a second") {
  Tally tally;
  tally.add(kCycles, whole(2'000'000));
  tally.add(kInstructions, whole(3'000'000));
  tally.add(kStalledFrontend, whole(500'000));
  tally.add(kStalledBackend, whole(1'000'000));
  tally.add(kBranchInstructions, whole(1000));
  tally.add(kBranches, whole(200));
  tally.add(kBranchMisses, whole(5));
  tally.add(kCacheInstructions, whole(4000));
  tally.add(kCacheReferences, whole(100));
  tally.add(kCacheMisses, whole(40));
  tally.add(kLlcLoads, whole(80));
  tally.add(kLlcMisses, whole(20));
  tally.add(kL1dInstructions, whole(10'000));
  tally.add(kL1dLoads, whole(3000));
  tally.add(kL1dMisses, whole(60));
  tally.add(kL1dStores, whole(1500));
  tally.add(kL1iInstructions, whole(2000));
  tally.add(kL1iLoads, whole(800));
  tally.add(kL1iMisses, whole(4));
  tally.add(kTlbInstructions, whole(5000));
  tally.add(kDtlbMisses, whole(10));
  tally.add(kItlbMisses, whole(5));
  const Values values = values_of(tally, 2);
  CHECK(values[kValueIpc] == 1.5);
  CHECK(values[kValueCycles] == 1'000'000);
  CHECK(values[kValueInstructions] == 1'500'000);
  CHECK(values[kValueStalledFrontend] == 25);
  CHECK(values[kValueStalledBackend] == 50);
  CHECK(values[kValueBranches] == 100);
  CHECK(values[kValueBranchShare] == 20);
  CHECK(values[kValueBranchMisses] == 2.5);
  CHECK(values[kValueBranchMissShare] == 2.5);
  CHECK(values[kValueCacheReferences] == 50);
  CHECK(values[kValueCacheMisses] == 20);
  CHECK(values[kValueCacheMissShare] == 40);
  CHECK(values[kValueCacheMpki] == 10);
  CHECK(values[kValueLlcLoads] == 40);
  CHECK(values[kValueLlcMisses] == 10);
  CHECK(values[kValueLlcMissShare] == 25);
  CHECK(values[kValueL1dLoads] == 1500);
  CHECK(values[kValueL1dMisses] == 30);
  CHECK(values[kValueL1dMissShare] == 2);
  CHECK(values[kValueL1dStores] == 750);
  CHECK(values[kValueLoadShare] == 30);
  CHECK(values[kValueStoreShare] == 15);
  CHECK(values[kValueL1iMisses] == 2);
  CHECK(values[kValueL1iMissShare] == 0.5);
  CHECK(values[kValueL1iMpki] == 2);
  CHECK(values[kValueDtlbMisses] == 5);
  CHECK(values[kValueDtlbMpki] == 2);
  CHECK(values[kValueItlbMisses] == 2.5);
  CHECK(values[kValueItlbMpki] == 1);
  CHECK(values[kValueRunning] == 100);
  CHECK_FALSE(values[kValueSwitches]);
  CHECK_FALSE(values[kValueClock]);
}

TEST_CASE("software events need no PMU") {
  Tally tally;
  tally.add(kSwitches, whole(300));
  tally.add(kMigrations, whole(4));
  tally.add(kFaults, whole(50));
  tally.add(kMajorFaults, whole(1));
  tally.add(kClock, {3 * kSecond, 0, 0});  // in a cgroup the kernel's time may lag
  const Values values = values_of(tally, 2);
  CHECK(values[kValueSwitches] == 150);
  CHECK(values[kValueMigrations] == 2);
  CHECK(values[kValueFaults] == 25);
  CHECK(values[kValueMajorFaults] == 0.5);
  CHECK(values[kValueClock] == 150);
  CHECK_FALSE(values[kValueRunning]);
  CHECK_FALSE(values[kValueIpc]);
}

TEST_CASE("a group that took turns is scaled in each place, and marked") {
  Tally tally;
  tally.add(kCycles, {1000, kSecond, kSecond / 4});
  tally.add(kCycles, {1000, kSecond, kSecond / 2});
  tally.add(kInstructions, {500, kSecond, kSecond / 4});
  tally.add(kInstructions, {3000, kSecond, kSecond / 2});
  tally.add(kBranches, {10, 2 * kSecond, 2 * kSecond});
  CHECK(tally.count(kCycles) == 6000.0);
  CHECK(tally.count(kInstructions) == 8000.0);
  CHECK(tally.count(kBranches) == 10.0);
  CHECK(tally.running() == 37.5);  // of the group that got least
}

TEST_CASE("a place where a group got no turn is taken to be like the others") {
  Tally tally;
  tally.add(kCycles, {900, 9 * kSecond, 9 * kSecond});
  tally.add(kCycles, {0, kSecond, 0});
  CHECK(tally.count(kCycles) == 1000.0);
  CHECK(tally.running() == 90);
}

TEST_CASE("unknown is absent and never 0") {
  Tally tally;
  tally.add(kCycles, {0, kSecond, 0});  // enabled, and never a turn
  CHECK_FALSE(tally.count(kCycles));
  CHECK(tally.running() == 0);
  tally.add(kInstructions, {5, kSecond, kSecond});
  CHECK_FALSE(values_of(tally, 1)[kValueIpc]);
  tally.mark_unknown(kInstructions);
  CHECK_FALSE(tally.count(kInstructions));
  CHECK_FALSE(tally.count(kBranches));
  CHECK_FALSE(values_of(tally, 0)[kValueCycles]);
}

TEST_CASE("an event that did not run counted nothing, and has no ratio") {
  Tally tally;
  tally.add(kCycles, {0, 0, 0});
  tally.add(kInstructions, {0, 0, 0});
  const Values values = values_of(tally, 1);
  CHECK(values[kValueCycles] == 0);
  CHECK_FALSE(values[kValueIpc]);
  CHECK_FALSE(values[kValueRunning]);
}

}  // namespace atalaya::counters
