// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <array>

namespace atalaya::perf {

inline constexpr int kPercentDecimals = 3, kMemoryDecimals = 2, kIsCount = -1;

inline constexpr std::array kHostTags = {MetricTag{"host"_str, ATALAYA_TAG_IDENTITY}};
inline constexpr std::array kStackTags = {
    MetricTag{"host"_str, ATALAYA_TAG_IDENTITY},    MetricTag{"profile"_str, ATALAYA_TAG_IDENTITY},
    MetricTag{"process"_str, ATALAYA_TAG_IDENTITY}, MetricTag{"pid"_str, ATALAYA_TAG_IDENTITY},
    MetricTag{"container"_str, ATALAYA_TAG_EXTRA},  MetricTag{"runtime"_str, ATALAYA_TAG_EXTRA}};

template <size_t tags>
constexpr Metric metric(atalaya_str name, atalaya_str unit, uint32_t kind, int decimals, const std::array<MetricTag, tags> &keys,
                        atalaya_str source, atalaya_str summary) {
  return {name, unit, kind, decimals, keys.data(), tags, sizeof(MetricTag), source, summary};
}

inline constexpr std::array kMetrics = {
    metric("profile.samples"_str, "1"_str, ATALAYA_DELTA, kIsCount, kStackTags, "perf event, or sched_switch"_str,
           "How often the stack was seen in the window; off-CPU: how often a thread waited in it."_str),
    metric("profile.ns"_str, "ns"_str, ATALAYA_DELTA, kIsCount, kStackTags, "sched_switch"_str,
           "Off-CPU: how long threads waited in the stack, told in the window in which the wait ends."_str),
    metric("perf.samples"_str, "1"_str, ATALAYA_DELTA, kIsCount, kHostTags, "perf event, or sched_switch"_str,
           "Samples that were taken, those below included."_str),
    metric("perf.lost"_str, "1"_str, ATALAYA_DELTA, kIsCount, kHostTags, "BPF map, perf ring"_str,
           "Samples without room, which are in no stack."_str),
    metric("perf.filtered"_str, "1"_str, ATALAYA_DELTA, kIsCount, kHostTags, "the options processes and cgroups"_str,
           "Samples of processes that are not wanted."_str),
    metric("perf.stacks.lost"_str, "1"_str, ATALAYA_DELTA, kIsCount, kHostTags, "BPF map"_str,
           "Samples whose stack had no room, in part or whole; they are told as [stack lost]."_str),
    metric(
        "perf.stacks.incomplete"_str, "1"_str, ATALAYA_DELTA, kIsCount, kHostTags, "the stacks"_str,
        "Samples whose stack does not reach the function that its thread began with: [unwind failed], [truncated], [stack lost]."_str),
    metric("perf.stacks.uncopied"_str, "1"_str, ATALAYA_DELTA, kIsCount, kHostTags, "perf ring"_str,
           "With unwind = \"dwarf\": stacks without room for their copy, whose frame pointers were followed."_str),
    metric("perf.frames"_str, "1"_str, ATALAYA_DELTA, kIsCount, kHostTags, "the stacks"_str,
           "Frames of the distinct stacks of the window."_str),
    metric("perf.frames.unnamed"_str, "1"_str, ATALAYA_DELTA, kIsCount, kHostTags, "the stacks"_str,
           "Of these, frames in no function that is known: [libc.so.6], [unknown]."_str),
    metric("perf.cpu.kernel"_str, "%"_str, ATALAYA_RATE, kPercentDecimals, kHostTags, "the BPF program's own clock"_str,
           "What sampling costs in the kernel; 100 is one core. Absent with the backend ring."_str),
    metric("perf.cpu.user"_str, "%"_str, ATALAYA_RATE, kPercentDecimals, kHostTags, "CLOCK_THREAD_CPUTIME_ID"_str,
           "What reading and naming stacks costs; 100 is one core."_str),
    metric("perf.symbols.memory"_str, "MiBy"_str, ATALAYA_GAUGE, kMemoryDecimals, kHostTags, "the caches"_str,
           "Memory of the symbols of files and of the maps of processes."_str),
    metric("perf.jvm.failures"_str, "1"_str, ATALAYA_DELTA, kIsCount, kHostTags, "the attach protocol"_str,
           "JVMs that did not write a perf map when asked to."_str),
};

}  // namespace atalaya::perf
