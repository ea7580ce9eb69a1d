// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

namespace atalaya::self {

inline constexpr int kPercentDecimals = 2, kMemoryDecimals = 2, kStepDecimals = 3;

inline constexpr MetricTag kPartTags[] = {metric::identity("host"), metric::identity("pipeline"), metric::identity("component")};
inline constexpr MetricTag kReasonTags[] = {metric::identity("host"), metric::identity("pipeline"), metric::identity("component"),
                                            metric::identity("reason")};

inline constexpr MetricTag kStepTags[] = {metric::identity("host"), metric::identity("direction")};

inline constexpr Metric kMetrics[] = {
    metric::rate("self.cpu.user", "%", kPercentDecimals, metric::host_tags, "getrusage ru_utime",
                 "CPU time of the agent in user mode; 100 is one core"),
    metric::rate("self.cpu.system", "%", kPercentDecimals, metric::host_tags, "getrusage ru_stime",
                 "CPU time of the agent in the kernel; 100 is one core"),
    metric::gauge("self.mem.resident", "MiBy", kMemoryDecimals, metric::host_tags, "/proc/self/status VmRSS",
                  "Resident memory of the agent"),
    metric::gauge("self.threads", "1", metric::count, metric::host_tags, "/proc/self/status Threads", "Threads of the agent"),
    metric::gauge("self.files", "1", metric::count, metric::host_tags, "/proc/self/fd", "Open files and sockets of the agent"),
    metric::total("self.switches.voluntary", "1", metric::count, metric::host_tags, "getrusage ru_nvcsw",
                  "Voluntary context switches of the agent"),
    metric::total("self.switches.involuntary", "1", metric::count, metric::host_tags, "getrusage ru_nivcsw",
                  "Involuntary context switches of the agent"),
    metric::total("self.clock.steps", "1", metric::count, metric::host_tags, "CLOCK_REALTIME, CLOCK_BOOTTIME",
                  "Steps of the wall clock since the agent started"),
    metric::gauge("self.clock.step", "s", kStepDecimals, kStepTags, "CLOCK_REALTIME, CLOCK_BOOTTIME",
                  "Length of a step of the wall clock, in its span; negative: it was set back"),
    metric::total("self.samples.in", "1", metric::count, kPartTags, "ledger", "Input samples of a stage"),
    metric::total("self.samples.created", "1", metric::count, kPartTags, "ledger", "Samples created by a stage"),
    metric::total("self.samples.out", "1", metric::count, kPartTags, "ledger", "Output samples of a source or stage"),
    metric::total("self.samples.dropped", "1", metric::count, kPartTags, "ledger",
                  "Samples dropped by a stage or sink, for all reasons"),
    metric::total("self.samples.merged", "1", metric::count, kPartTags, "ledger", "Samples merged into others"),
    metric::total("self.drops", "1", metric::count, kReasonTags, "ledger", "Samples dropped, by reason"),
    metric::total("self.sink.accepted", "1", metric::count, kPartTags, "ledger", "Samples accepted by a sink"),
    metric::total("self.sink.delivered", "1", metric::count, kPartTags, "ledger", "Samples delivered by a sink"),
    metric::total("self.sink.dead_letter", "1", metric::count, kPartTags, "ledger", "Samples refused permanently (dead letters)"),
    metric::gauge("self.queue.samples", "1", metric::count, kPartTags, "ledger",
                  "Samples queued for a sink, including those in flight"),
    metric::gauge("self.queue.bytes", "By", metric::count, kPartTags, "ledger",
                  "Memory of the samples queued for a sink, without its spool"),
    metric::total("self.gaps", "1", metric::count, kPartTags, "ledger", "Windows skipped by a source"),
    metric::total("self.errors", "1", metric::count, kPartTags, "ledger", "Failed calls"),
    metric::rate("self.busy", "%", kPercentDecimals, kPartTags, "ledger",
                 "Time spent in calls of the component; 100 is all the time"),
};

}  // namespace atalaya::self
