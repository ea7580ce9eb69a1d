// SPDX-License-Identifier: Apache-2.0
// The parts of a stack sample for profiles in formats of other programs. Pure.
#pragma once

#include <atalaya/plugin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "core/base/sample/name_cache.h"

namespace atalaya::protocols {

inline std::string_view view_of(atalaya_str text) {
  return {text.data, text.size};
}

// The value of a tag; "" if it is missing.
inline std::string_view tag_of(const atalaya_sample &sample, std::string_view key, const core::NameOf &name_of) {
  for (uint32_t i = 0; i < sample.tag_count; ++i)
    if (name_of(sample.tags[i].key) == key) return view_of(sample.tags[i].value);
  return {};
}

// The field as an integer, which all profile formats require; 0 if it is missing or not finite.
inline int64_t amount_of(const atalaya_sample &sample, std::string_view field, const core::NameOf &name_of) {
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    if (name_of(sample.fields[i].name) != field) continue;
    if (sample.fields[i].type == ATALAYA_I64) return std::max<int64_t>(sample.fields[i].value.i64, 0);
    const double value = sample.fields[i].value.f64;
    constexpr double kMaximum = 9e18;
    return value > 0 && value < kMaximum ? std::llround(value) : 0;
  }
  return 0;
}

// "cpu", "offcpu", "wall" or "waker". CPU samples have equal weights, the others are weighted by time.
inline std::string_view profile_of(const atalaya_sample &sample, const core::NameOf &name_of) {
  const std::string_view profile = tag_of(sample, "profile", name_of);
  return profile.empty() ? "cpu" : profile;
}
inline std::string_view value_field(std::string_view profile) {
  return profile == "cpu" ? "profile.samples" : "profile.ns";
}

}  // namespace atalaya::protocols
