// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/influx/influx_encoder.h"

#include <algorithm>
#include <string>

#include "core/base/text/json.h"
#include "core/base/text/safe_text.h"

namespace atalaya::protocols {
namespace {

constexpr std::string_view kSpecial = ",= ", kSpecialInMeasurement = ", ";

// A word of the protocol. Control characters and a '\' before an escaped character have no escape: they are written as \x0a and
// \x5c.
void append_word(std::string &out, std::string_view text, std::string &buffer, std::string_view special = kSpecial) {
  buffer.clear();
  core::append_visible(buffer, text);
  for (size_t i = 0; i < buffer.size(); ++i) {
    const char byte = buffer[i];
    const bool last = i + 1 == buffer.size();
    if (byte == '\\' && (last || special.find(buffer[i + 1]) != std::string_view::npos || buffer[i + 1] == '\\')) {
      out += "\\x5c";
      continue;
    }
    if (special.find(byte) != std::string_view::npos) out += '\\';
    out += byte;
  }
}

// The first word of a line. A leading '#' would begin a comment, so it is written as \x23.
void append_measurement(std::string &out, std::string_view text, std::string &buffer) {
  const bool comment = text.starts_with('#');
  if (comment) out += "\\x23";
  append_word(out, text.substr(comment ? 1 : 0), buffer, kSpecialInMeasurement);
}

class InfluxEncoder final : public core::Encoder {
 public:
  explicit InfluxEncoder(const core::NameOf &name_of)
      : families_(name_of, [this](std::string_view name, std::string &out) { append_measurement(out, family_of(name), buffer_); }),
        fields_(name_of,
                [this](std::string_view name, std::string &out) {
                  append_word(out, name.size() > family_of(name).size() + 1 ? name.substr(family_of(name).size() + 1) : "value",
                              buffer_);
                  out += '=';
                }),
        keys_(name_of, [this](std::string_view name, std::string &out) {
          out = ',';
          append_word(out, name, buffer_);
          out += '=';
        }) {}

  std::string_view append(const atalaya_sample &sample, std::string &out) override {
    if (sample.kind == ATALAYA_STACK) return "influx has no form for stacks";
    if (sample.kind == ATALAYA_SPAN) return "influx has no form for spans";
    tags_.clear();
    for (uint32_t i = 0; i < sample.tag_count; ++i) {
      const core::NameCache::Name *key = keys_.find(sample.tags[i].key);
      if (key == nullptr || sample.tags[i].value.size == 0) continue;  // the protocol has no empty values
      tags_ += key->text;
      append_word(tags_, core::encoders::view(sample.tags[i].value), buffer_);
    }
    written_.assign(sample.field_count, false);
    bool any = false;
    for (uint32_t i = 0; i < sample.field_count; ++i) {
      const core::NameCache::Name *family =
          written_[i] || !core::encoders::finite(sample.fields[i]) ? nullptr : families_.find(sample.fields[i].name);
      if (family == nullptr) continue;
      append_line(sample, i, *family, out);
      any = true;
    }
    return any ? std::string_view{} : core::encoders::kNoValue;
  }

 private:
  static std::string_view family_of(std::string_view name) { return name.substr(0, name.find('.')); }

  // One line with all fields of the family, `first` the first of them.
  void append_line(const atalaya_sample &sample, uint32_t first, const core::NameCache::Name &family, std::string &out) {
    const std::string_view word = family_of(family.raw);
    out += family.text;
    out += tags_;
    char before = ' ';
    for (uint32_t i = first; i < sample.field_count; ++i) {
      const atalaya_field &field = sample.fields[i];
      const core::NameCache::Name *name = core::encoders::finite(field) ? fields_.find(field.name) : nullptr;
      if (name == nullptr || family_of(name->raw) != word) continue;
      written_[i] = true;
      out += before;
      before = ',';
      out += name->text;
      core::encoders::append_value(field, out);
      if (field.type == ATALAYA_I64) out += 'i';
    }
    out += ' ';
    core::append_integer(out, sample.time_ns);
    out += '\n';
  }

  std::string buffer_, tags_;
  std::vector<bool> written_;  // fields of the current sample
  core::NameCache families_, fields_, keys_;
};

}  // namespace

std::unique_ptr<core::Encoder> make_influx(const core::NameOf &name_of) {
  return std::make_unique<InfluxEncoder>(name_of);
}

}  // namespace atalaya::protocols
