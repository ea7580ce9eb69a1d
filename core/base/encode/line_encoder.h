// SPDX-License-Identifier: Apache-2.0
// Samples as lines of text: the interface of all formats, and the JSON forms that the engine needs itself. Every line ends in '\n'
// and contains no other one, whatever the names and values are. Tags and fields whose name is unknown are left out; invalid UTF-8
// becomes U+FFFD.
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

#include "core/base/text/json.h"
#include "core/base/sample/name_cache.h"

namespace atalaya::core {

// For one thread; reused for all samples of an output, so that it allocates nothing in steady state.
class Encoder {
 public:
  virtual ~Encoder() = default;
  // The line that begins a file; "" if the format has none.
  virtual std::string_view header() const { return {}; }
  // Appends the sample's lines. The answer is empty, or the reason why the sample has no line in this format.
  virtual std::string_view append(const atalaya_sample &sample, std::string &out) = 0;
};

// Samples without a line, by reason.
using Refused = std::vector<std::pair<std::string_view, uint64_t>>;
// Appends the lines of all samples and adds to the counts of refused samples.
void append_all(Encoder &encoder, std::span<const atalaya_sample> samples, std::string &out, Refused &refused);

}  // namespace atalaya::core

// For writers of formats.
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
