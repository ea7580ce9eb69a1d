// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

namespace atalaya::self {

using namespace atalaya::literals;

inline constexpr int kPercentDecimals = 2, kMemoryDecimals = 2;

inline constexpr MetricTag kHostTags[] = {{"host"_str, ATALAYA_TAG_IDENTITY, 0}};
inline constexpr MetricTag kPartTags[] = {
    {"host"_str, ATALAYA_TAG_IDENTITY, 0}, {"pipeline"_str, ATALAYA_TAG_IDENTITY, 0}, {"component"_str, ATALAYA_TAG_IDENTITY, 0}};
inline constexpr MetricTag kReasonTags[] = {{"host"_str, ATALAYA_TAG_IDENTITY, 0},
                                            {"pipeline"_str, ATALAYA_TAG_IDENTITY, 0},
                                            {"component"_str, ATALAYA_TAG_IDENTITY, 0},
                                            {"reason"_str, ATALAYA_TAG_IDENTITY, 0}};

template <size_t N>
constexpr Metric metric(atalaya_str name, atalaya_str unit, uint32_t kind, int32_t decimals, const MetricTag (&tags)[N],
                        atalaya_str source, atalaya_str summary) {
  return {.name = name,
          .unit = unit,
          .kind = kind,
          .decimals = decimals,
          .tags = tags,
          .tag_count = N,
          .tag_size = sizeof(MetricTag),
          .source = source,
          .summary = summary};
}

// A count since the agent's start.
template <size_t N>
constexpr Metric total(atalaya_str name, const MetricTag (&tags)[N], atalaya_str source, atalaya_str summary) {
  return metric(name, "1"_str, ATALAYA_TOTAL, -1, tags, source, summary);
}

inline constexpr Metric kMetrics[] = {
    metric("self.cpu.user"_str, "%"_str, ATALAYA_RATE, kPercentDecimals, kHostTags, "getrusage ru_utime"_str,
           "CPU time of the agent in user mode; 100 is one core."_str),
    metric("self.cpu.system"_str, "%"_str, ATALAYA_RATE, kPercentDecimals, kHostTags, "getrusage ru_stime"_str,
           "CPU time of the agent in the kernel; 100 is one core."_str),
    metric("self.mem.resident"_str, "MiBy"_str, ATALAYA_GAUGE, kMemoryDecimals, kHostTags, "/proc/self/status VmRSS"_str,
           "Memory of the agent that is in RAM."_str),
    metric("self.threads"_str, "1"_str, ATALAYA_GAUGE, -1, kHostTags, "/proc/self/status Threads"_str, "Threads of the agent."_str),
    metric("self.files"_str, "1"_str, ATALAYA_GAUGE, -1, kHostTags, "/proc/self/fd"_str,
           "Open files and sockets of the agent."_str),
    total("self.switches.voluntary"_str, kHostTags, "getrusage ru_nvcsw"_str,
          "Context switches because the agent had to wait."_str),
    total("self.switches.involuntary"_str, kHostTags, "getrusage ru_nivcsw"_str,
          "Context switches because something else was to run."_str),
    total("self.samples.in"_str, kPartTags, "ledger"_str, "Samples that a stage was given."_str),
    total("self.samples.created"_str, kPartTags, "ledger"_str, "Samples that a stage made."_str),
    total("self.samples.out"_str, kPartTags, "ledger"_str, "Samples that a source or stage handed on."_str),
    total("self.samples.dropped"_str, kPartTags, "ledger"_str, "Samples that a stage or sink dropped, for all reasons."_str),
    total("self.samples.merged"_str, kPartTags, "ledger"_str, "Samples that went into others."_str),
    total("self.drops"_str, kReasonTags, "ledger"_str, "Samples dropped, by reason."_str),
    total("self.sink.accepted"_str, kPartTags, "ledger"_str, "Samples that a sink took over."_str),
    total("self.sink.delivered"_str, kPartTags, "ledger"_str, "Samples that a sink delivered."_str),
    total("self.sink.dead_letter"_str, kPartTags, "ledger"_str, "Samples that were refused for good and put aside."_str),
    metric("self.queue.samples"_str, "1"_str, ATALAYA_GAUGE, -1, kPartTags, "ledger"_str,
           "Samples that wait for a sink, those in flight included."_str),
    metric("self.queue.bytes"_str, "By"_str, ATALAYA_GAUGE, -1, kPartTags, "ledger"_str,
           "Bytes of the samples that wait for a sink."_str),
    total("self.gaps"_str, kPartTags, "ledger"_str, "Windows that a source skipped."_str),
    total("self.errors"_str, kPartTags, "ledger"_str, "Calls that failed."_str),
    metric("self.busy"_str, "%"_str, ATALAYA_RATE, kPercentDecimals, kPartTags, "ledger"_str,
           "Time spent in the component's calls; 100 is always."_str),
};

}  // namespace atalaya::self
