// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <array>

namespace atalaya::uprobe {

inline constexpr int kIsCount = -1;

inline constexpr std::array kRegionTags = {MetricTag{"host"_str, ATALAYA_TAG_IDENTITY}, MetricTag{"name"_str, ATALAYA_TAG_IDENTITY},
                                           MetricTag{"job"_str, ATALAYA_TAG_IDENTITY}};
inline constexpr std::array kSpanTags = {MetricTag{"host"_str, ATALAYA_TAG_IDENTITY}, MetricTag{"name"_str, ATALAYA_TAG_IDENTITY},
                                         MetricTag{"process"_str, ATALAYA_TAG_IDENTITY}, MetricTag{"pid"_str, ATALAYA_TAG_IDENTITY},
                                         MetricTag{"job"_str, ATALAYA_TAG_IDENTITY}};

template <size_t tags>
constexpr Metric metric(atalaya_str name, atalaya_str unit, uint32_t kind, const std::array<MetricTag, tags> &keys,
                        atalaya_str source, atalaya_str summary) {
  return {name, unit, kind, kIsCount, keys.data(), tags, sizeof(MetricTag), source, summary};
}
constexpr Metric count(atalaya_str name, atalaya_str source, atalaya_str summary) {
  return metric(name, "1"_str, ATALAYA_DELTA, kRegionTags, source, summary);
}

inline constexpr std::array kMetrics = {
    metric("span.bytes"_str, "By"_str, ATALAYA_GAUGE, kSpanTags, "the option bytes"_str,
           "What the run processed. A span region is one run; its length is the run's."_str),
    count("region.calls"_str, "probes"_str,
          "Runs that ended in the window, those below included, also those that are no spans."_str),
    metric("region.time"_str, "ns"_str, ATALAYA_DELTA, kRegionTags, "probes"_str, "How long these were, threads together."_str),
    count("region.short"_str, "min"_str, "Of these, shorter than min: they are no spans."_str),
    count("region.dropped"_str, "max_events, the ring"_str,
          "Of these, more than max_events in a second, or than there was room for: they are no spans."_str),
    count("region.nested"_str, "probes"_str,
          "Begins within a run of the same region, by recursion; they are part of that run."_str),
    count("region.orphans"_str, "probes"_str,
          "Begins without an end (the thread ended, longjmp, an exception, exec), and ends without a begin."_str),
    count("region.missed"_str, "BPF maps"_str,
          "Begins of which there was no room to keep anything, or that the kernel tells no return of; they are nowhere else."_str),
    metric("region.attached"_str, "1"_str, ATALAYA_GAUGE, kRegionTags, "the binary"_str,
           "1: the file that has the binary's name now is seen; 0: there is none, or something is wrong, as the log says."_str),
};

}  // namespace atalaya::uprobe
