// SPDX-License-Identifier: Apache-2.0
// The differences between the messages of points, for the reader.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "plugins/shared/protocols/otlp/otlp_fields.h"

namespace atalaya::protocols::otlp {

// The numbers of the fields that differ between the messages of points, and the parts that are not stored.
struct Layout {
  Tag attribute, flags;
  std::string_view omitted;  // names of these parts; the bits of `parts` are the numbers of their fields
  uint32_t parts;
};

constexpr uint32_t bits(std::initializer_list<Tag> tags) {
  uint32_t set = 0;
  for (const Tag tag : tags) set |= 1U << tag;
  return set;
}

inline const Layout &layout_of(uint32_t form) {
  static constexpr Layout kNumberPoint{number::kAttribute, number::kFlags, "exemplars", bits({number::kExemplars})};
  static constexpr Layout kHistogramPoint{
      histogram::kAttribute, histogram::kFlags, "buckets, exemplars, minimum and maximum of histograms",
      bits({histogram::kBuckets, histogram::kExemplars, histogram::kMinimum, histogram::kMaximum})};
  static constexpr Layout kExponentialPoint{exponential::kAttribute, exponential::kFlags,
                                            "buckets, exemplars, minimum and maximum of exponential histograms",
                                            bits({exponential::kZeroCount, exponential::kPositive, exponential::kNegative,
                                                  exponential::kExemplars, exponential::kMinimum, exponential::kMaximum})};
  static constexpr Layout kSummaryPoint{summary::kAttribute, summary::kFlags, "quantiles of summaries",
                                        bits({summary::kQuantiles})};
  if (form == metric::kHistogram) return kHistogramPoint;
  if (form == metric::kExponential) return kExponentialPoint;
  return form == metric::kSummary ? kSummaryPoint : kNumberPoint;
}

inline bool is_distribution(uint32_t form) {
  return form == metric::kHistogram || form == metric::kExponential || form == metric::kSummary;
}

}  // namespace atalaya::protocols::otlp
