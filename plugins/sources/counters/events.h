// SPDX-License-Identifier: Apache-2.0
// The events and their groups. A CPU counts all events of a group at the same time or none of
// them, so ratios within a group are exact even when groups are multiplexed. Groups are small, because a CPU has four to eight
// counters.
#pragma once

#include <linux/perf_event.h>

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace atalaya::counters {

enum class Group : uint8_t { pipeline, branches, cache, llc, l1d, l1i, tlb, software, clock };
inline constexpr size_t kGroups = 9;
// The groups that can be selected. The clock is not among them: it is selected with the software events.
inline constexpr std::array<std::string_view, kGroups - 1> kGroupNames = {"pipeline", "branches", "cache", "llc",
                                                                          "l1d",      "l1i",      "tlb",   "software"};
using Groups = std::bitset<kGroups>;

// Index of an event; events of one group are adjacent.
enum Slot : size_t {
  kCycles,
  kInstructions,
  kStalledFrontend,
  kStalledBackend,
  kBranchInstructions,  // instructions, counted a second time within the group of branches
  kBranches,
  kBranchMisses,
  kCacheInstructions,
  kCacheReferences,
  kCacheMisses,
  kLlcLoads,
  kLlcMisses,
  kL1dInstructions,
  kL1dLoads,
  kL1dMisses,
  kL1dStores,
  kL1iInstructions,
  kL1iLoads,
  kL1iMisses,
  kTlbInstructions,
  kDtlbMisses,
  kItlbMisses,
  kSwitches,
  kMigrations,
  kFaults,
  kMajorFaults,
  kClock,  // in a separate group: for cgroups whose tasks never leave the CPU, kernels stop one of two PMUs of a group
  kSlots,
};
using Slots = std::bitset<kSlots>;

struct Event {
  Group group;
  std::string_view name;  // name of the event in perf(1)
  uint32_t type;
  uint64_t config;
};

constexpr uint64_t cache_event(uint64_t cache, uint64_t operation, uint64_t result) {
  return cache | operation << 8 | result << 16;
}

inline constexpr uint64_t kReads = PERF_COUNT_HW_CACHE_OP_READ, kWrites = PERF_COUNT_HW_CACHE_OP_WRITE;
inline constexpr uint64_t kAccesses = PERF_COUNT_HW_CACHE_RESULT_ACCESS, kMisses = PERF_COUNT_HW_CACHE_RESULT_MISS;

// clang-format off
inline constexpr std::array<Event, kSlots> kEvents = {{
    {Group::pipeline, "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {Group::pipeline, "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {Group::pipeline, "stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {Group::pipeline, "stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {Group::branches, "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {Group::branches, "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {Group::branches, "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {Group::cache, "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {Group::cache, "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {Group::cache, "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {Group::llc, "LLC-loads", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_LL, kReads, kAccesses)},
    {Group::llc, "LLC-load-misses", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_LL, kReads, kMisses)},
    {Group::l1d, "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {Group::l1d, "L1-dcache-loads", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_L1D, kReads, kAccesses)},
    {Group::l1d, "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_L1D, kReads, kMisses)},
    {Group::l1d, "L1-dcache-stores", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_L1D, kWrites, kAccesses)},
    {Group::l1i, "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {Group::l1i, "L1-icache-loads", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_L1I, kReads, kAccesses)},
    {Group::l1i, "L1-icache-load-misses", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_L1I, kReads, kMisses)},
    {Group::tlb, "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {Group::tlb, "dTLB-load-misses", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_DTLB, kReads, kMisses)},
    {Group::tlb, "iTLB-load-misses", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_ITLB, kReads, kMisses)},
    {Group::software, "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {Group::software, "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {Group::software, "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {Group::software, "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {Group::clock, "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
}};
// clang-format on

constexpr bool is_software(size_t slot) {
  return kEvents[slot].type == PERF_TYPE_SOFTWARE;
}

}  // namespace atalaya::counters
