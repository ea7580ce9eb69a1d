// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

namespace atalaya::btrace {

inline constexpr MetricTag kBlockTags[] = {metric::identity("host"), metric::identity("name")};
inline constexpr MetricTag kSpanTags[] = {metric::identity("host"),     metric::identity("framework"), metric::identity("job"),
                                          metric::identity("stage"),    metric::identity("task"),      metric::identity("attempt"),
                                          metric::identity("phase"),    metric::identity("name"),      metric::identity("source"),
                                          metric::identity("locality"), metric::identity("executor"),  metric::identity("quality")};

inline constexpr Metric kMetrics[] = {
    metric::gauge("span.bytes", "By", metric::count, kSpanTags, "bytes=", "Bytes that the span's work processed"),
    metric::gauge("span.bytes.remote", "By", metric::count, kSpanTags, "remote=", "Bytes of span.bytes read over the network"),
    metric::gauge("span.records", "1", metric::count, kSpanTags, "records=", "Records that the span's work processed"),
    metric::gauge("span.outcome", "1", metric::count, kSpanTags, "outcome=", "0 succeeded, 1 failed, 2 killed"),
    metric::gauge("span.spills", "1", metric::count, kSpanTags, "spills=", "Spills to disk"),
    metric::gauge("span.given_up", "1", metric::count, kSpanTags, "open_spans",
                  "1: given up after it was reported open: max_open, no end, or an end before its begin. Its length is unknown."),
    metric::gauge("span.gc.time", "ms", metric::count, kSpanTags, "gc=", "Time of garbage collection"),
    metric::total("btrace.profile.invocations", "1", metric::count, kBlockTags, "Invocations",
                  "Calls of a block that BTrace's profiler measures, as printed by printSnapshot"),
    metric::total("btrace.profile.self.total", "ns", metric::count, kBlockTags, "SelfTime.Total", "Time in the block itself"),
    metric::gauge("btrace.profile.self.avg", "ns", metric::count, kBlockTags, "SelfTime.Avg", "Mean self time per call"),
    metric::gauge("btrace.profile.self.min", "ns", metric::count, kBlockTags, "SelfTime.Min", "Minimum self time of a call"),
    metric::gauge("btrace.profile.self.max", "ns", metric::count, kBlockTags, "SelfTime.Max", "Maximum self time of a call"),
    metric::total("btrace.profile.wall.total", "ns", metric::count, kBlockTags, "WallTime.Total",
                  "Time in the block and its callees"),
    metric::gauge("btrace.profile.wall.avg", "ns", metric::count, kBlockTags, "WallTime.Avg", "Mean elapsed time per call"),
    metric::gauge("btrace.profile.wall.min", "ns", metric::count, kBlockTags, "WallTime.Min", "Minimum elapsed time of a call"),
    metric::gauge("btrace.profile.wall.max", "ns", metric::count, kBlockTags, "WallTime.Max", "Maximum elapsed time of a call"),
    metric::delta("btrace.lines", "1", metric::count, metric::host_tags, "the files", "Lines read"),
    metric::delta("btrace.lines.plain", "1", metric::count, metric::host_tags, "the files", "Lines that match no known form"),
    metric::delta("btrace.lines.bad", "1", metric::count, metric::host_tags, "the files",
                  "Phase lines and lines of rules with invalid values"),
    metric::delta("btrace.lines.long", "1", metric::count, metric::host_tags, "the files",
                  "Lines longer than max_line, which were skipped"),
    metric::delta("btrace.truncations", "1", metric::count, metric::host_tags, "size and content",
                  "Files that were truncated or rewritten in place"),
    metric::delta("btrace.unseen.bytes", "By", metric::count, metric::host_tags, "size",
                  "Bytes truncated or deleted before they were read; a lower bound"),
    metric::gauge("btrace.spans.open", "1", metric::count, metric::host_tags, "begin lines", "Open spans"),
    metric::delta("btrace.spans.orphans", "1", metric::count, metric::host_tags, "begin and end lines",
                  "Ends without a begin or before it, and begins without an end within max_age"),
    metric::delta("btrace.spans.evicted", "1", metric::count, metric::host_tags, "max_open", "Begins given up because of max_open"),
    metric::delta("btrace.errors", "1", metric::count, metric::host_tags, "! ERROR", "Errors of the script reported by BTrace"),
    metric::delta("btrace.dropped", "1", metric::count, metric::host_tags, "Dropped N commands",
                  "Outputs dropped by BTrace because its queue was full"),
    metric::delta("btrace.overflows", "1", metric::count, metric::host_tags, "speculative buffer overflow",
                  "Overflows of speculative buffers"),
};

}  // namespace atalaya::btrace
