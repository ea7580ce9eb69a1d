// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

namespace atalaya::hadoop {

inline constexpr MetricTag kSpanTags[] = {
    {.key = "host"_str, .role = ATALAYA_TAG_IDENTITY},     {.key = "framework"_str, .role = ATALAYA_TAG_IDENTITY},
    {.key = "job"_str, .role = ATALAYA_TAG_IDENTITY},      {.key = "name"_str, .role = ATALAYA_TAG_IDENTITY},
    {.key = "stage"_str, .role = ATALAYA_TAG_IDENTITY},    {.key = "task"_str, .role = ATALAYA_TAG_IDENTITY},
    {.key = "attempt"_str, .role = ATALAYA_TAG_IDENTITY},  {.key = "phase"_str, .role = ATALAYA_TAG_IDENTITY},
    {.key = "locality"_str, .role = ATALAYA_TAG_IDENTITY}, {.key = "executor"_str, .role = ATALAYA_TAG_IDENTITY},
    {.key = "source"_str, .role = ATALAYA_TAG_IDENTITY},   {.key = "quality"_str, .role = ATALAYA_TAG_IDENTITY},
    {.key = "fact"_str, .role = ATALAYA_TAG_IDENTITY},     {.key = "value"_str, .role = ATALAYA_TAG_IDENTITY}};

constexpr Metric span_count(atalaya_str name, atalaya_str unit, atalaya_str source, atalaya_str summary) {
  return {.name = name,
          .unit = unit,
          .kind = ATALAYA_GAUGE,
          .decimals = -1,
          .tags = kSpanTags,
          .tag_count = std::size(kSpanTags),
          .tag_size = sizeof(MetricTag),
          .source = source,
          .summary = summary};
}

// Beside them every counter is a field, counter.GROUP.NAME.
inline constexpr Metric kMetrics[] = {
    span_count("span.bytes"_str, "By"_str, "input format, file system and shuffle counters; Input and Shuffle Read Metrics"_str,
               "Bytes that the task or phase worked through."_str),
    span_count("span.records"_str, "1"_str, "MAP_INPUT_RECORDS, REDUCE_INPUT_RECORDS; Records Read, Total Records Read"_str,
               "Records that it worked through."_str),
    span_count("span.bytes.remote"_str, "By"_str, "locality and input; Remote Bytes Read"_str,
               "Of span.bytes, what came over the network."_str),
    span_count("span.gc.time"_str, "ms"_str, "GC_TIME_MILLIS; JVM GC Time"_str,
               "Time in which the task's JVM collected garbage."_str),
    span_count("span.outcome"_str, "1"_str, "status of the event that ends it"_str,
               "0 succeeded, 1 failed, 2 killed; absent while it runs."_str),
};

}  // namespace atalaya::hadoop
