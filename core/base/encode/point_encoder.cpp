// SPDX-License-Identifier: Apache-2.0
// Points as JSON, in the format of Atalaya and that of BDWatchdog; stacks and spans, which have the same format in both.
#include <algorithm>
#include <string>

#include "core/base/encode/line_encoder.h"
#include "core/base/sample/span_end.h"
#include "core/base/text/json.h"

namespace atalaya::core::encoders {
namespace {

// The texts between the parts of a point.
struct Style {
  bool reference;  // seconds, two decimals and the reference's words for tags
  std::string_view metric_open, metric_close, value_open, tags_open, comma, colon;
};
constexpr Style kOurs = {false, R"({"metric":)", R"(,"timestamp":)", R"(,"value":)", R"(,"tags":{)", ",", ":"};
constexpr Style kReference = {true, R"({"metric": )", R"(, "timestamp": ")", R"(", "value": ")", R"(", "tags": {)", ", ", ": "};

std::string_view reference_word(std::string_view key) {
  if (key == "process") return "command";
  if (key == "interface") return "device";
  return key;
}

class PointEncoder : public Encoder {
 public:
  PointEncoder(const NameOf &name_of, const Style &style)
      : style_(style),
        metrics_(name_of, [&style](std::string_view name, std::string &out) { render_metric(style, name, out); }),
        keys_(name_of, [&style](std::string_view name, std::string &out) { render_key(style, name, out); }) {}

  std::string_view append(const atalaya_sample &sample, std::string &out) override {
    if (sample.kind == ATALAYA_STACK) return append_stack(sample, out);
    if (sample.kind == ATALAYA_SPAN) return append_span(sample, out);
    return append_points(sample, out);
  }

 private:
  static void render_metric(const Style &style, std::string_view name, std::string &out) {
    out = style.metric_open;
    append_json_string(out, name);
    out += style.metric_close;
  }
  static void render_key(const Style &style, std::string_view name, std::string &out) {
    append_json_string(out, style.reference ? reference_word(name) : name);
    out += style.colon;
  }

  std::string_view append_points(const atalaya_sample &sample, std::string &out);
  std::string_view append_stack(const atalaya_sample &sample, std::string &out);
  std::string_view append_span(const atalaya_sample &sample, std::string &out);
  void append_tag(const atalaya_tag &tag, std::string_view comma, std::string &out);
  void append_fields(const atalaya_sample &sample, std::string &out);
  const atalaya_field *samples_of_stack(const atalaya_sample &sample);

  const Style &style_;
  NameCache metrics_, keys_;
  std::string time_, tail_;      // of the current sample: the text before and after each value
  std::string frames_, others_;  // of the current stack
};

void PointEncoder::append_tag(const atalaya_tag &tag, std::string_view comma, std::string &out) {
  const NameCache::Name *key = keys_.find(tag.key);
  if (key == nullptr) return;
  if (!out.empty() && out.back() != '{') out += comma;
  out += key->text;
  append_json_string(out, view(tag.value));
}

std::string_view PointEncoder::append_points(const atalaya_sample &sample, std::string &out) {
  time_.clear();
  append_integer(time_, sample.time_ns / (style_.reference ? kNanosPerSecond : kNanosPerMilli));
  time_ += style_.value_open;
  tail_ = style_.tags_open;
  for (uint32_t i = 0; i < sample.tag_count; ++i) append_tag(sample.tags[i], style_.comma, tail_);
  tail_ += "}}\n";
  bool any = false;
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const atalaya_field &field = sample.fields[i];
    const NameCache::Name *name = finite(field) ? metrics_.find(field.name) : nullptr;
    if (name == nullptr) continue;
    out += name->text;
    out += time_;
    if (style_.reference) {
      append_two_decimals(out, field.type == ATALAYA_I64 ? static_cast<double>(field.value.i64) : field.value.f64);
    } else {
      append_value(field, out);
    }
    out += tail_;
    any = true;
  }
  return any ? std::string_view{} : kNoValue;
}

const atalaya_field *PointEncoder::samples_of_stack(const atalaya_sample &sample) {
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const NameCache::Name *name = metrics_.find(sample.fields[i].name);
    if (name != nullptr && name->raw == "profile.samples" && finite(sample.fields[i])) return &sample.fields[i];
  }
  return nullptr;
}

std::string_view PointEncoder::append_stack(const atalaya_sample &sample, std::string &out) {
  const atalaya_field *count = samples_of_stack(sample);
  if (count == nullptr) return "stack without profile.samples";
  std::string_view host;
  std::string_view pid;
  std::string_view process;
  std::string_view profile = "cpu";
  others_ = R"(,"tags":{)";
  const size_t none = others_.size();
  for (uint32_t i = 0; i < sample.tag_count; ++i) {
    const NameCache::Name *key = keys_.find(sample.tags[i].key);
    const std::string_view value = view(sample.tags[i].value);
    if (key == nullptr) continue;
    if (key->raw == "profile") profile = value;
    if (key->raw == "host") {
      host = value;
    } else if (key->raw == "pid") {
      pid = value;
    } else if (key->raw == "process") {
      process = value;
    } else {
      append_tag(sample.tags[i], ",", others_);
    }
  }
  // The reference's store has one kind of profile: others would be added to its CPU time.
  if (style_.reference && profile != "cpu") return "bdwatchdog has CPU stacks only";
  frames_.clear();
  if (!process.empty() && !pid.empty()) {  // the root frame, COMM-PID; ';' separates frames
    frames_ += process;
    std::replace(frames_.begin(), frames_.end(), ';', ':');
    frames_ += '-';
    frames_ += pid;
    if (sample.text.size > 0) frames_ += ';';
  }
  frames_ += view(sample.text);
  out += R"({"timestamp":)";
  append_integer(out, sample.time_ns / kNanosPerSecond);
  out += R"(,"hostname":)";
  append_json_string(out, host);
  out += R"(,"stack":)";
  append_json_string(out, frames_);
  out += R"(,"value":)";
  append_value(*count, out);
  if (!style_.reference && others_.size() > none) {
    out += others_;
    out += '}';
  }
  out += "}\n";
  return {};
}

std::string_view PointEncoder::append_span(const atalaya_sample &sample, std::string &out) {
  out += R"({"span":)";
  append_json_string(out, view(sample.text));
  out += R"(,"start":)";
  append_integer(out, sample.time_ns / kNanosPerMilli);
  if (sample.duration_ns >= 0) append_integer(out += R"(,"end":)", end_of(sample) / kNanosPerMilli);
  out += R"(,"tags":{)";
  for (uint32_t i = 0; i < sample.tag_count; ++i) append_tag(sample.tags[i], ",", out);
  out += R"(},"fields":{)";
  append_fields(sample, out);
  out += "}}\n";
  return {};
}

void PointEncoder::append_fields(const atalaya_sample &sample, std::string &out) {
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const atalaya_field &field = sample.fields[i];
    const NameCache::Name *name = finite(field) ? keys_.find(field.name) : nullptr;
    if (name == nullptr) continue;
    if (out.back() != '{') out += ',';
    out += name->text;
    append_value(field, out);
  }
}

class StackEncoder final : public PointEncoder {
 public:
  explicit StackEncoder(const NameOf &name_of) : PointEncoder(name_of, kReference) {}

  std::string_view append(const atalaya_sample &sample, std::string &out) override {
    return sample.kind == ATALAYA_STACK ? PointEncoder::append(sample, out) : "stacks has no form for metrics and spans";
  }
};

}  // namespace

std::unique_ptr<Encoder> make_stacks(const NameOf &name_of) {
  return std::make_unique<StackEncoder>(name_of);
}

std::unique_ptr<Encoder> make_points(const NameOf &name_of) {
  return std::make_unique<PointEncoder>(name_of, kOurs);
}

std::unique_ptr<Encoder> make_bdwatchdog(const NameOf &name_of) {
  return std::make_unique<PointEncoder>(name_of, kReference);
}

}  // namespace atalaya::core::encoders
