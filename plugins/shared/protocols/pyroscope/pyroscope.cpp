// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/pyroscope/pyroscope.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/sample/span_end.h"
#include "plugins/shared/protocols/base/stack_sample.h"
#include "plugins/shared/protocols/opentsdb/opentsdb_name.h"

namespace atalaya::protocols {
namespace {

// The server reads lines of up to this size, and ignores the rest of a request behind a longer one.
constexpr size_t kMaxLine = 64 * 1024;
constexpr size_t kMaxNumber = 24;  // with separators

// The type of a profile is the last word of its name.
struct Type {
  std::string_view profile;  // ours
  std::string_view suffix, units;
  int64_t rate;  // values a second; 0: as configured
};
constexpr int64_t kNanosecondRate = 1'000'000'000;
constexpr Type kTypes[] = {
    {"cpu", ".cpu", "samples", 0},
    {"offcpu", ".block_duration", "lock_nanoseconds", kNanosecondRate},
    {"wall", ".wall", "samples", kNanosecondRate},
};

const Type *type_of(std::string_view profile) {
  const auto found = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const Type &type) { return type.profile == profile; });
  return found == std::end(kTypes) ? nullptr : found;
}

// Labels have letters, digits and _.
void append_label(std::string &out, std::string_view key) {
  for (const char c : key) out += (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? c : '_';
}

class Pyroscope final : public SampleEncoder {
 public:
  Pyroscope(core::NameOf name_of, int64_t sample_rate) : name_of_(std::move(name_of)), sample_rate_(sample_rate) {}

  std::string_view refusal_reason(const atalaya_sample &sample) const override {
    if (sample.kind != ATALAYA_STACK) return "Pyroscope has a form for stacks only";
    const std::string_view profile = profile_of(sample, name_of_);
    if (type_of(profile) == nullptr) return "Pyroscope has a form for the profiles cpu, offcpu and wall only";
    if (sample.text.size == 0) return "has no stack";
    if (sample.text.size + kMaxNumber > kMaxLine) return "is longer than 64 KiB, the limit of Pyroscope for a stack";
    if (amount_of(sample, value_field(profile), name_of_) == 0) return "has no value";
    return {};
  }

  // The name is the process: an application of Pyroscope is a program, wherever it runs. { } = and , are encoded.
  std::string query_of(const atalaya_sample &sample) const override {
    const Type &type = *type_of(profile_of(sample, name_of_));
    std::string query = "name=";
    const std::string_view process = tag_of(sample, "process", name_of_);
    append_opentsdb_name(query, process.empty() ? "unknown" : process);
    query.append(type.suffix).append("%7B").append(labels_of(sample)).append("%7D");
    query.append("&from=").append(std::to_string(core::start_of(sample.time_ns, sample.duration_ns)));
    query.append("&until=").append(std::to_string(sample.time_ns));
    query.append("&sampleRate=").append(std::to_string(type.rate == 0 ? sample_rate_ : type.rate));
    query.append("&units=").append(type.units).append("&aggregationType=sum&spyName=atalaya&format=folded");
    return query;
  }

  void encode(std::span<const atalaya_sample> samples, std::string &out) override {
    for (const atalaya_sample &sample : samples) {
      const size_t begin = out.size();
      out += view_of(sample.text);
      std::replace_if(
          out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
      out.append(1, ' ').append(std::to_string(amount_of(sample, value_field(profile_of(sample, name_of_)), name_of_)));
      out += '\n';
    }
  }

 private:
  std::string labels_of(const atalaya_sample &sample) const {
    std::vector<std::string> labels;
    for (uint32_t i = 0; i < sample.tag_count; ++i) {
      const std::string_view key = name_of_(sample.tags[i].key);
      if (key.empty() || key == "profile" || sample.tags[i].value.size == 0) continue;
      std::string &label = labels.emplace_back();
      append_label(label, key);
      label += "%3D";
      append_opentsdb_name(label, view_of(sample.tags[i].value));
    }
    std::sort(labels.begin(), labels.end());
    std::string text;
    for (const std::string &label : labels) text.append(text.empty() ? "" : "%2C").append(label);
    return text;
  }

  const core::NameOf name_of_;
  const int64_t sample_rate_;
};

}  // namespace

std::unique_ptr<SampleEncoder> make_pyroscope(const core::NameOf &name_of, int64_t sample_rate) {
  return std::make_unique<Pyroscope>(name_of, sample_rate);
}

}  // namespace atalaya::protocols
