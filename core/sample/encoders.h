// SPDX-License-Identifier: Apache-2.0
// What the encoders share; users include encoder.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/sample/encoder.h"
#include "core/sample/json.h"

namespace atalaya::core::encoders {

constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::string_view kNoValue = "no finite value";

inline bool finite(const atalaya_field &field) {
  return field.type == ATALAYA_I64 || std::isfinite(field.value.f64);
}
inline void append_value(const atalaya_field &field, std::string &out) {
  if (field.type == ATALAYA_I64) {
    append_integer(out, field.value.i64);
  } else {
    append_number(out, field.value.f64);
  }
}
inline std::string_view view(atalaya_str text) {
  return {text.data, text.size};
}

std::unique_ptr<Encoder> make_points(const NameOf &name_of);
std::unique_ptr<Encoder> make_bdwatchdog(const NameOf &name_of);
std::unique_ptr<Encoder> make_samples(const NameOf &name_of);
std::unique_ptr<Encoder> make_csv(const NameOf &name_of);
std::unique_ptr<Encoder> make_line(const NameOf &name_of);
std::unique_ptr<Encoder> make_opentsdb(const NameOf &name_of, const TagLimit &limit);
std::unique_ptr<Encoder> make_influx(const NameOf &name_of);
std::unique_ptr<Encoder> make_stacks(const NameOf &name_of);

}  // namespace atalaya::core::encoders
