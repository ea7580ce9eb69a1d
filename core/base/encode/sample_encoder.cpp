// SPDX-License-Identifier: Apache-2.0
#include "core/base/encode/line_encoder.h"
#include "core/base/text/json.h"

namespace atalaya::core::encoders {
namespace {

constexpr std::string_view kKinds[] = {"metrics", "stack", "span"};

void append_lossless(const atalaya_field &field, std::string &out) {
  if (field.type == ATALAYA_I64) {
    append_integer(out, field.value.i64);
  } else if (std::isfinite(field.value.f64)) {
    append_real(out, field.value.f64);
  } else if (std::isnan(field.value.f64)) {
    out += R"("NaN")";
  } else {
    out += field.value.f64 > 0 ? R"("Infinity")" : R"("-Infinity")";
  }
}

// A whole sample a line, so that two outputs can be compared byte by byte.
class SampleEncoder final : public Encoder {
 public:
  explicit SampleEncoder(const NameOf &name_of)
      : keys_(name_of, [](std::string_view name, std::string &out) {
          append_json_string(out, name);
          out += ':';
        }) {}

  std::string_view append(const atalaya_sample &sample, std::string &out) override {
    out += R"({"kind":")";
    out += kKinds[sample.kind <= ATALAYA_SPAN ? sample.kind : ATALAYA_METRICS];
    out += R"(","time":)";
    append_integer(out, sample.time_ns);
    out += R"(,"duration":)";
    append_integer(out, sample.duration_ns);
    if (sample.text.size > 0) {
      out += R"(,"text":)";
      append_json_string(out, view(sample.text));
    }
    out += R"(,"tags":{)";
    for (uint32_t i = 0; i < sample.tag_count; ++i) {
      if (append_key(sample.tags[i].key, out)) append_json_string(out, view(sample.tags[i].value));
    }
    out += R"(},"fields":{)";
    for (uint32_t i = 0; i < sample.field_count; ++i) {
      if (append_key(sample.fields[i].name, out)) append_lossless(sample.fields[i], out);
    }
    out += "}}\n";
    return {};
  }

 private:
  bool append_key(uint32_t id, std::string &out) {
    const NameCache::Name *key = keys_.find(id);
    if (key == nullptr) return false;
    if (out.back() != '{') out += ',';
    out += key->text;
    return true;
  }

  NameCache keys_;
};

}  // namespace

std::unique_ptr<Encoder> make_samples(const NameOf &name_of) {
  return std::make_unique<SampleEncoder>(name_of);
}

}  // namespace atalaya::core::encoders
