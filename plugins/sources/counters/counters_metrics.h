// SPDX-License-Identifier: Apache-2.0
// What is told of the host, of a cgroup and of a process: the same numbers under three first words.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>

#include "plugins/shared/samples/metric_values.h"

namespace atalaya::counters {

// In the order of the tables below.
enum Value : size_t {
  kValueIpc,
  kValueCycles,
  kValueInstructions,
  kValueStalledFrontend,
  kValueStalledBackend,
  kValueBranches,
  kValueBranchShare,
  kValueBranchMisses,
  kValueBranchMissShare,
  kValueCacheReferences,
  kValueCacheMisses,
  kValueCacheMissShare,
  kValueCacheMpki,
  kValueLlcLoads,
  kValueLlcMisses,
  kValueLlcMissShare,
  kValueL1dLoads,
  kValueL1dMisses,
  kValueL1dMissShare,
  kValueL1dStores,
  kValueLoadShare,
  kValueStoreShare,
  kValueL1iMisses,
  kValueL1iMissShare,
  kValueL1iMpki,
  kValueDtlbMisses,
  kValueDtlbMpki,
  kValueItlbMisses,
  kValueItlbMpki,
  kValueRunning,
  kValueSwitches,
  kValueMigrations,
  kValueFaults,
  kValueMajorFaults,
  kValueClock,  // of the host it would be the time itself
  kValues,
};

inline constexpr std::array kHostTags = {proc::identity_tag("host"), proc::identity_tag("core")};
inline constexpr std::array kCgroupTags = {proc::identity_tag("host"), proc::identity_tag("cgroup")};
inline constexpr std::array kProcessTags = {proc::identity_tag("host"), proc::identity_tag("pid"), proc::identity_tag("process")};

// clang-format off
#define ATALAYA_COUNTERS(prefix, tags) \
  proc::gauge(prefix ".ipc", "1", 3, tags, "instructions / cycles", "Instructions a cycle."), \
  proc::rate(prefix ".cycles", "1/s", 0, tags, "cycles", "Cycles of CPUs that were not idle."), \
  proc::rate(prefix ".instructions", "1/s", 0, tags, "instructions", "Instructions that were completed."), \
  proc::gauge(prefix ".stalled.frontend", "%", 2, tags, "stalled-cycles-frontend / cycles", "Cycles in which no instruction came to be executed."), \
  proc::gauge(prefix ".stalled.backend", "%", 2, tags, "stalled-cycles-backend / cycles", "Cycles in which instructions waited for data or for a unit."), \
  proc::rate(prefix ".branches", "1/s", 0, tags, "branches", "Branches."), \
  proc::gauge(prefix ".branches.share", "%", 2, tags, "branches / instructions", "Branches among the instructions."), \
  proc::rate(prefix ".branches.misses", "1/s", 0, tags, "branch-misses", "Branches that went another way than the CPU had guessed."), \
  proc::gauge(prefix ".branches.misses.share", "%", 3, tags, "branch-misses / branches", "The same among the branches."), \
  proc::rate(prefix ".cache.references", "1/s", 0, tags, "cache-references", "Accesses that came to the last level of cache."), \
  proc::rate(prefix ".cache.misses", "1/s", 0, tags, "cache-misses", "Accesses that no cache could serve."), \
  proc::gauge(prefix ".cache.misses.share", "%", 2, tags, "cache-misses / cache-references", "The same among those that came to the last level."), \
  proc::gauge(prefix ".cache.mpki", "1", 3, tags, "1000 x cache-misses / instructions", "The same a thousand instructions."), \
  proc::rate(prefix ".llc.loads", "1/s", 0, tags, "LLC-loads", "Loads that came to the last level of cache."), \
  proc::rate(prefix ".llc.misses", "1/s", 0, tags, "LLC-load-misses", "Loads that it could not serve."), \
  proc::gauge(prefix ".llc.misses.share", "%", 2, tags, "LLC-load-misses / LLC-loads", "The same among the loads that came to it."), \
  proc::rate(prefix ".l1d.loads", "1/s", 0, tags, "L1-dcache-loads", "Loads."), \
  proc::rate(prefix ".l1d.misses", "1/s", 0, tags, "L1-dcache-load-misses", "Loads that the first level of cache could not serve."), \
  proc::gauge(prefix ".l1d.misses.share", "%", 3, tags, "L1-dcache-load-misses / L1-dcache-loads", "The same among the loads."), \
  proc::rate(prefix ".l1d.stores", "1/s", 0, tags, "L1-dcache-stores", "Stores."), \
  proc::gauge(prefix ".loads.share", "%", 2, tags, "L1-dcache-loads / instructions", "Loads among the instructions."), \
  proc::gauge(prefix ".stores.share", "%", 2, tags, "L1-dcache-stores / instructions", "Stores among the instructions."), \
  proc::rate(prefix ".l1i.misses", "1/s", 0, tags, "L1-icache-load-misses", "Fetches of instructions that the first level could not serve."), \
  proc::gauge(prefix ".l1i.misses.share", "%", 3, tags, "L1-icache-load-misses / L1-icache-loads", "The same among the fetches, where the CPU counts those."), \
  proc::gauge(prefix ".l1i.mpki", "1", 3, tags, "1000 x L1-icache-load-misses / instructions", "The same a thousand instructions."), \
  proc::rate(prefix ".dtlb.misses", "1/s", 0, tags, "dTLB-load-misses", "Loads whose page's address had to be looked up."), \
  proc::gauge(prefix ".dtlb.mpki", "1", 3, tags, "1000 x dTLB-load-misses / instructions", "The same a thousand instructions."), \
  proc::rate(prefix ".itlb.misses", "1/s", 0, tags, "iTLB-load-misses", "Fetches of instructions whose page's address had to be looked up."), \
  proc::gauge(prefix ".itlb.mpki", "1", 3, tags, "1000 x iTLB-load-misses / instructions", "The same a thousand instructions."), \
  proc::gauge(prefix ".running", "%", 2, tags, "time_running / time_enabled", "How much of the time the group of counters counted that got least turns; below 100 the numbers above are estimates."), \
  proc::rate(prefix ".switches", "1/s", 2, tags, "context-switches", "Switches from one thread to another."), \
  proc::rate(prefix ".migrations", "1/s", 2, tags, "cpu-migrations", "Threads that went to another CPU."), \
  proc::rate(prefix ".faults", "1/s", 2, tags, "page-faults", "Page faults."), \
  proc::rate(prefix ".faults.major", "1/s", 2, tags, "major-faults", "Page faults that a disk had to serve.")
#define ATALAYA_COUNTERS_CLOCK(prefix, tags) \
  proc::rate(prefix ".cpu", "%", 2, tags, "cpu-clock", "CPU time, of one core, over which the numbers above were counted.")

inline constexpr std::array kHostMetrics = {ATALAYA_COUNTERS("sys.counters", kHostTags)};
inline constexpr std::array kCgroupMetrics = {ATALAYA_COUNTERS("cgroup.counters", kCgroupTags), ATALAYA_COUNTERS_CLOCK("cgroup.counters", kCgroupTags)};
inline constexpr std::array kProcessMetrics = {ATALAYA_COUNTERS("proc.counters", kProcessTags), ATALAYA_COUNTERS_CLOCK("proc.counters", kProcessTags)};
#undef ATALAYA_COUNTERS
#undef ATALAYA_COUNTERS_CLOCK
// clang-format on

static_assert(kCgroupMetrics.size() == kValues && kProcessMetrics.size() == kValues && kHostMetrics.size() == kValueClock);

}  // namespace atalaya::counters
