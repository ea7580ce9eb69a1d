// SPDX-License-Identifier: Apache-2.0
// The metrics of the host, of cgroups and of processes: the same values under three name
// prefixes.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>

#include "plugins/shared/io/samples/metric_values.h"

namespace atalaya::counters {

// Index of a value; the tables below have the same order.
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
  kValueClock,  // not for the host, whose clock equals the elapsed time
  kValues,
};

inline constexpr MetricTag kHostTags[] = {metric::identity("host"), metric::identity("core")};
inline constexpr MetricTag kCgroupTags[] = {metric::identity("host"), metric::identity("cgroup")};
inline constexpr MetricTag kProcessTags[] = {metric::identity("host"), metric::identity("pid"), metric::identity("process")};

// clang-format off
#define ATALAYA_COUNTERS(prefix, tags) \
  metric::gauge(prefix ".ipc", "1", 3, tags, "instructions / cycles", "Instructions per cycle"), \
  metric::rate(prefix ".cycles", "/s", 0, tags, "cycles", "Cycles of CPUs that were not idle"), \
  metric::rate(prefix ".instructions", "/s", 0, tags, "instructions", "Instructions completed"), \
  metric::gauge(prefix ".stalled.frontend", "%", 2, tags, "stalled-cycles-frontend / cycles", "Cycles in which no instruction was delivered for execution"), \
  metric::gauge(prefix ".stalled.backend", "%", 2, tags, "stalled-cycles-backend / cycles", "Cycles in which instructions waited for data or an execution unit"), \
  metric::rate(prefix ".branches", "/s", 0, tags, "branches", "Branches"), \
  metric::gauge(prefix ".branches.share", "%", 2, tags, "branches / instructions", "Share of branches among the instructions"), \
  metric::rate(prefix ".branches.misses", "/s", 0, tags, "branch-misses", "Branches mispredicted"), \
  metric::gauge(prefix ".branches.misses.share", "%", 3, tags, "branch-misses / branches", "Share of mispredicted branches among the branches"), \
  metric::rate(prefix ".cache.references", "/s", 0, tags, "cache-references", "Accesses to the last level of cache"), \
  metric::rate(prefix ".cache.misses", "/s", 0, tags, "cache-misses", "Accesses that missed all caches"), \
  metric::gauge(prefix ".cache.misses.share", "%", 2, tags, "cache-misses / cache-references", "Share of misses among the accesses to the last level"), \
  metric::gauge(prefix ".cache.mpki", "1", 3, tags, "1000 x cache-misses / instructions", "Cache misses per 1000 instructions"), \
  metric::rate(prefix ".llc.loads", "/s", 0, tags, "LLC-loads", "Loads from the last level of cache"), \
  metric::rate(prefix ".llc.misses", "/s", 0, tags, "LLC-load-misses", "Loads that missed the last level of cache"), \
  metric::gauge(prefix ".llc.misses.share", "%", 2, tags, "LLC-load-misses / LLC-loads", "Share of misses among the loads from the last level"), \
  metric::rate(prefix ".l1d.loads", "/s", 0, tags, "L1-dcache-loads", "Loads"), \
  metric::rate(prefix ".l1d.misses", "/s", 0, tags, "L1-dcache-load-misses", "Loads that missed the first level of cache"), \
  metric::gauge(prefix ".l1d.misses.share", "%", 3, tags, "L1-dcache-load-misses / L1-dcache-loads", "Share of first-level misses among the loads"), \
  metric::rate(prefix ".l1d.stores", "/s", 0, tags, "L1-dcache-stores", "Stores"), \
  metric::gauge(prefix ".loads.share", "%", 2, tags, "L1-dcache-loads / instructions", "Share of loads among the instructions"), \
  metric::gauge(prefix ".stores.share", "%", 2, tags, "L1-dcache-stores / instructions", "Share of stores among the instructions"), \
  metric::rate(prefix ".l1i.misses", "/s", 0, tags, "L1-icache-load-misses", "Instruction fetches that missed the first level of cache"), \
  metric::gauge(prefix ".l1i.misses.share", "%", 3, tags, "L1-icache-load-misses / L1-icache-loads", "Share of misses among the fetches, where the CPU counts fetches"), \
  metric::gauge(prefix ".l1i.mpki", "1", 3, tags, "1000 x L1-icache-load-misses / instructions", "First-level fetch misses per 1000 instructions"), \
  metric::rate(prefix ".dtlb.misses", "/s", 0, tags, "dTLB-load-misses", "Loads that missed the data TLB"), \
  metric::gauge(prefix ".dtlb.mpki", "1", 3, tags, "1000 x dTLB-load-misses / instructions", "Data TLB misses per 1000 instructions"), \
  metric::rate(prefix ".itlb.misses", "/s", 0, tags, "iTLB-load-misses", "Instruction fetches that missed the instruction TLB"), \
  metric::gauge(prefix ".itlb.mpki", "1", 3, tags, "1000 x iTLB-load-misses / instructions", "Instruction TLB misses per 1000 instructions"), \
  metric::gauge(prefix ".running", "%", 2, tags, "time_running / time_enabled", "Share of the time that the least active event group counted; below 100 the values are estimates"), \
  metric::rate(prefix ".switches", "/s", 2, tags, "context-switches", "Context switches"), \
  metric::rate(prefix ".migrations", "/s", 2, tags, "cpu-migrations", "Migrations of threads to another CPU"), \
  metric::rate(prefix ".faults", "/s", 2, tags, "page-faults", "Page faults"), \
  metric::rate(prefix ".faults.major", "/s", 2, tags, "major-faults", "Page faults that read from disk")
#define ATALAYA_COUNTERS_CLOCK(prefix, tags) \
  metric::rate(prefix ".cpu", "%", 2, tags, "cpu-clock", "CPU time over which the events were counted; 100 is one core")

inline constexpr std::array kHostMetrics = {ATALAYA_COUNTERS("sys.counters", kHostTags)};
inline constexpr std::array kCgroupMetrics = {ATALAYA_COUNTERS("cgroup.counters", kCgroupTags), ATALAYA_COUNTERS_CLOCK("cgroup.counters", kCgroupTags)};
inline constexpr std::array kProcessMetrics = {ATALAYA_COUNTERS("proc.counters", kProcessTags), ATALAYA_COUNTERS_CLOCK("proc.counters", kProcessTags)};
#undef ATALAYA_COUNTERS
#undef ATALAYA_COUNTERS_CLOCK
// clang-format on

static_assert(kCgroupMetrics.size() == kValues && kProcessMetrics.size() == kValues && kHostMetrics.size() == kValueClock);

}  // namespace atalaya::counters
