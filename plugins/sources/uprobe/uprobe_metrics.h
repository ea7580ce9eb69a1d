// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

namespace atalaya::uprobe {

inline constexpr MetricTag kRegionTags[] = {metric::identity("host"), metric::identity("name"), metric::identity("job")};
inline constexpr MetricTag kSpanTags[] = {metric::identity("host"), metric::identity("name"), metric::identity("process"),
                                          metric::identity("pid"), metric::identity("job")};

inline constexpr Metric kMetrics[] = {
    metric::gauge("span.bytes", "By", metric::count, kSpanTags, "the option bytes", "Bytes that the span's work processed"),
    metric::delta("region.calls", "1", metric::count, kRegionTags, "probes",
                  "Ended runs, including those that do not become spans"),
    metric::delta("region.time", "ns", metric::count, kRegionTags, "probes", "Time in ended runs, summed over threads"),
    metric::delta("region.short", "1", metric::count, kRegionTags, "min", "Ended runs shorter than min; they do not become spans"),
    metric::delta("region.dropped", "1", metric::count, kRegionTags, "max_events, the ring",
                  "Ended runs beyond max_events, or lost because a buffer was full; they do not become spans"),
    metric::delta("region.nested", "1", metric::count, kRegionTags, "probes",
                  "Begins inside a run of the same region (recursion); part of that run"),
    metric::delta("region.orphans", "1", metric::count, kRegionTags, "probes",
                  "Begins without an end (thread exit, longjmp, exception, exec), and ends without a begin"),
    metric::delta("region.missed", "1", metric::count, kRegionTags, "BPF maps",
                  "Begins not recorded because a map was full or the kernel reports no return; counted only here"),
    metric::gauge("region.attached", "1", metric::count, kRegionTags, "the binary",
                  "1: attached to the file that now has the binary's name; 0: not attached, see the log"),
};

}  // namespace atalaya::uprobe
