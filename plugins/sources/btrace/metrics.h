// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <array>

namespace atalaya::btrace {

inline constexpr int kIsCount = -1;

inline constexpr std::array kHostTags = {MetricTag{"host"_str, ATALAYA_TAG_IDENTITY}};
inline constexpr std::array kBlockTags = {MetricTag{"host"_str, ATALAYA_TAG_IDENTITY}, MetricTag{"name"_str, ATALAYA_TAG_IDENTITY}};
inline constexpr std::array kSpanTags = {
    MetricTag{"host"_str, ATALAYA_TAG_IDENTITY},     MetricTag{"framework"_str, ATALAYA_TAG_IDENTITY},
    MetricTag{"job"_str, ATALAYA_TAG_IDENTITY},      MetricTag{"stage"_str, ATALAYA_TAG_IDENTITY},
    MetricTag{"task"_str, ATALAYA_TAG_IDENTITY},     MetricTag{"attempt"_str, ATALAYA_TAG_IDENTITY},
    MetricTag{"phase"_str, ATALAYA_TAG_IDENTITY},    MetricTag{"name"_str, ATALAYA_TAG_IDENTITY},
    MetricTag{"source"_str, ATALAYA_TAG_IDENTITY},   MetricTag{"locality"_str, ATALAYA_TAG_IDENTITY},
    MetricTag{"executor"_str, ATALAYA_TAG_IDENTITY}, MetricTag{"quality"_str, ATALAYA_TAG_IDENTITY}};

template <size_t tags>
constexpr Metric metric(atalaya_str name, atalaya_str unit, uint32_t kind, const std::array<MetricTag, tags> &keys,
                        atalaya_str source, atalaya_str summary) {
  return {name, unit, kind, kIsCount, keys.data(), tags, sizeof(MetricTag), source, summary};
}
constexpr Metric account(atalaya_str name, uint32_t kind, atalaya_str source, atalaya_str summary) {
  return metric(name, "1"_str, kind, kHostTags, source, summary);
}
constexpr Metric profile(atalaya_str name, atalaya_str column, atalaya_str summary) {
  return metric(name, "ns"_str, ATALAYA_TOTAL, kBlockTags, column, summary);
}
constexpr Metric profile_gauge(atalaya_str name, atalaya_str column, atalaya_str summary) {
  return metric(name, "ns"_str, ATALAYA_GAUGE, kBlockTags, column, summary);
}
constexpr Metric of_span(atalaya_str name, atalaya_str unit, atalaya_str source, atalaya_str summary) {
  return metric(name, unit, ATALAYA_GAUGE, kSpanTags, source, summary);
}

inline constexpr std::array kMetrics = {
    of_span("span.bytes"_str, "By"_str, "bytes="_str, "What the span's work processed."_str),
    of_span("span.bytes.remote"_str, "By"_str, "remote="_str, "Of these, what came over the network."_str),
    of_span("span.records"_str, "1"_str, "records="_str, "Records that it processed."_str),
    of_span("span.outcome"_str, "1"_str, "outcome="_str, "0 succeeded, 1 failed, 2 killed."_str),
    of_span("span.spills"_str, "1"_str, "spills="_str, "Spills to disk."_str),
    of_span(
        "span.given_up"_str, "1"_str, "open_spans"_str,
        "1: it was told open, and then given up: too many were open, its end did not come, or was before its begin. Its length is not known."_str),
    of_span("span.gc.time"_str, "ms"_str, "gc="_str, "Time in garbage collection."_str),
    metric("btrace.profile.invocations"_str, "1"_str, ATALAYA_TOTAL, kBlockTags, "Invocations"_str,
           "Calls of a block that BTrace's profiler measures, as printSnapshot writes them."_str),
    profile("btrace.profile.self.total"_str, "SelfTime.Total"_str, "Time in the block itself."_str),
    profile_gauge("btrace.profile.self.avg"_str, "SelfTime.Avg"_str, "Its mean a call."_str),
    profile_gauge("btrace.profile.self.min"_str, "SelfTime.Min"_str, "Its least."_str),
    profile_gauge("btrace.profile.self.max"_str, "SelfTime.Max"_str, "Its most."_str),
    profile("btrace.profile.wall.total"_str, "WallTime.Total"_str, "Time in the block and all that it called."_str),
    profile_gauge("btrace.profile.wall.avg"_str, "WallTime.Avg"_str, "Its mean a call."_str),
    profile_gauge("btrace.profile.wall.min"_str, "WallTime.Min"_str, "Its least."_str),
    profile_gauge("btrace.profile.wall.max"_str, "WallTime.Max"_str, "Its most."_str),
    account("btrace.lines"_str, ATALAYA_DELTA, "the files"_str, "Lines that were read."_str),
    account("btrace.lines.plain"_str, ATALAYA_DELTA, "the files"_str, "Of these, texts that say nothing that is known."_str),
    account("btrace.lines.bad"_str, ATALAYA_DELTA, "the files"_str, "Phase lines and lines of rules whose values cannot be."_str),
    account("btrace.lines.long"_str, ATALAYA_DELTA, "the files"_str, "Lines longer than max_line, which were left out."_str),
    account("btrace.truncations"_str, ATALAYA_DELTA, "size and content"_str,
            "Files that were truncated or written anew in place."_str),
    metric("btrace.unseen.bytes"_str, "By"_str, ATALAYA_DELTA, kHostTags, "size"_str,
           "Bytes that were truncated or deleted before they were read; at least so many."_str),
    account("btrace.spans.open"_str, ATALAYA_GAUGE, "begin lines"_str, "Spans that have begun and not ended."_str),
    account("btrace.spans.orphans"_str, ATALAYA_DELTA, "begin and end lines"_str,
            "Ends without a begin, and before it, and begins whose end did not come for max_age."_str),
    account("btrace.spans.evicted"_str, ATALAYA_DELTA, "max_open"_str, "Begins that were given up, as too many were open."_str),
    account("btrace.errors"_str, ATALAYA_DELTA, "! ERROR"_str, "Errors that BTrace wrote of its script."_str),
    account("btrace.dropped"_str, ATALAYA_DELTA, "Dropped N commands"_str,
            "Outputs that BTrace dropped, as its queue was full."_str),
    account("btrace.overflows"_str, ATALAYA_DELTA, "speculative buffer overflow"_str, "Speculative buffers that overflowed."_str),
};

}  // namespace atalaya::btrace
