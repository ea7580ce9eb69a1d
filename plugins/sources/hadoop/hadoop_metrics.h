// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

namespace atalaya::hadoop {

inline constexpr MetricTag kSpanTags[] = {metric::identity("host"),     metric::identity("framework"), metric::identity("job"),
                                          metric::identity("name"),     metric::identity("stage"),     metric::identity("task"),
                                          metric::identity("attempt"),  metric::identity("phase"),     metric::identity("locality"),
                                          metric::identity("executor"), metric::identity("source"),    metric::identity("quality"),
                                          metric::identity("fact"),     metric::identity("value"),     metric::identity("error")};

// The fixed metrics. In addition, each Hadoop counter becomes a field counter.GROUP.NAME.
inline constexpr Metric kMetrics[] = {
    metric::gauge("span.bytes", "By", metric::count, kSpanTags,
                  "input format, file system and shuffle counters; Input and Shuffle Read Metrics",
                  "Bytes that the span's work processed"),
    metric::gauge("span.records", "1", metric::count, kSpanTags,
                  "MAP_INPUT_RECORDS, REDUCE_INPUT_RECORDS; Records Read, Total Records Read",
                  "Records that the span's work processed"),
    metric::gauge("span.bytes.remote", "By", metric::count, kSpanTags, "locality and input; Remote Bytes Read",
                  "Bytes of span.bytes read over the network"),
    metric::gauge("span.gc.time", "ms", metric::count, kSpanTags, "GC_TIME_MILLIS; JVM GC Time", "Time of garbage collection"),
    metric::gauge("span.outcome", "1", metric::count, kSpanTags, "status of the event that ends it",
                  "0 succeeded, 1 failed, 2 killed; absent while it runs"),
    metric::gauge("span.slots", "1", metric::count, kSpanTags, "Total Cores, spark.task.cpus",
                  "Tasks that an executor runs at the same time"),
};

}  // namespace atalaya::hadoop
