// SPDX-License-Identifier: Apache-2.0
// Encoders of samples as lines of text: the interface of all formats, and the JSON formats of the engine itself. Every line ends in
// '\n' and contains no other '\n', for any names and values. Tags and fields with an unknown name id are left out; invalid UTF-8 is
// replaced by U+FFFD.
#pragma once

#include <atalaya/plugin.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/sample/name_cache.h"
#include "core/base/text/json.h"

namespace atalaya::core {

// Encodes all samples of one output. A reused encoder allocates nothing in steady state. One thread.
class Encoder {
 public:
  virtual ~Encoder() = default;
  // The first line of a file; "" if the format has none.
  virtual std::string_view header() const { return {}; }
  // Appends the sample's lines. Returns "", or the reason why the format refuses the sample.
  virtual std::string_view append(const atalaya_sample &sample, std::string &out) = 0;
};

// The number of refused samples, by reason.
using Refused = std::vector<std::pair<std::string_view, uint64_t>>;
// Appends the lines of all samples and adds the refused samples to `refused`.
void append_all(Encoder &encoder, std::span<const atalaya_sample> samples, std::string &out, Refused &refused);

}  // namespace atalaya::core

// Helpers for encoders.
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
std::unique_ptr<Encoder> make_stacks(const NameOf &name_of);

}  // namespace atalaya::core::encoders
