// SPDX-License-Identifier: Apache-2.0
// Points as CSV and as plain lines.
#include <algorithm>
#include <string>

#include "core/base/text/json.h"
#include "core/base/text/safe_text.h"
#include "plugins/shared/protocols/formats/encoder.h"

namespace atalaya::protocols {
namespace {

// Spreadsheets execute cells that begin with one of these.
constexpr std::string_view kFormula = "=+-@";

// One cell. Quoted if RFC 4180 requires it; line breaks are escaped before (append_visible).
void append_cell(std::string &out, std::string_view text) {
  if (text.find_first_of(",\"") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char byte : text) {
    if (byte == '"') out += '"';
    out += byte;
  }
  out += '"';
}

class CsvEncoder final : public core::Encoder {
 public:
  CsvEncoder(const core::NameOf &name_of, bool escape_formulas)
      : escape_formulas_(escape_formulas),
        metrics_(name_of,
                 [](std::string_view name, std::string &out) {
                   std::string visible;
                   core::append_visible(visible, name);
                   append_cell(out, visible);
                 }),
        keys_(name_of, [](std::string_view name, std::string &out) { append_escaped(out, name); }) {}

  std::string_view header() const override { return "time,metric,value,host,pid,process,tags\n"; }

  std::string_view append(const atalaya_sample &sample, std::string &out) override {
    if (sample.kind == ATALAYA_STACK) return "csv has no form for stacks";
    if (sample.kind == ATALAYA_SPAN) return "csv has no form for spans";
    render_tags(sample);
    bool any = false;
    for (uint32_t i = 0; i < sample.field_count; ++i) {
      const atalaya_field &field = sample.fields[i];
      const core::NameCache::Name *name = core::encoders::finite(field) ? metrics_.find(field.name) : nullptr;
      if (name == nullptr) continue;
      core::append_integer(out, sample.time_ns / core::encoders::kNanosPerMilli);
      out += ',';
      out += name->text;
      out += ',';
      core::encoders::append_value(field, out);
      out += tail_;
      any = true;
    }
    return any ? std::string_view{} : core::encoders::kNoValue;
  }

 private:
  // Inside the tags column, ';' and '=' are separators.
  static void append_escaped(std::string &out, std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      const size_t special = std::min(text.find_first_of(";=\\", at), text.size());
      core::append_visible(out, text.substr(at, special - at));
      if (special < text.size()) {
        out += '\\';
        out += text[special];
      }
      at = special + 1;
    }
  }

  // Sets tail_ to ",host,pid,process,tags\n".
  void render_tags(const atalaya_sample &sample) {
    host_.clear();
    pid_.clear();
    process_.clear();
    others_.clear();
    for (uint32_t i = 0; i < sample.tag_count; ++i) {
      const core::NameCache::Name *key = keys_.find(sample.tags[i].key);
      if (key == nullptr) continue;
      const std::string_view value = core::encoders::view(sample.tags[i].value);
      if (std::string *column = column_of(key->raw); column != nullptr) {
        core::append_visible(*column, value);
        continue;
      }
      if (!others_.empty()) others_ += ';';
      others_ += key->text;
      others_ += '=';
      append_escaped(others_, value);
    }
    tail_.clear();
    for (std::string *column : {&host_, &pid_, &process_, &others_}) {
      if (escape_formulas_ && !column->empty() && kFormula.find(column->front()) != std::string_view::npos)
        column->insert(0, 1, '\'');
      tail_ += ',';
      append_cell(tail_, *column);
    }
    tail_ += '\n';
  }

  std::string *column_of(std::string_view key) {
    if (key == "host") return &host_;
    if (key == "pid") return &pid_;
    if (key == "process") return &process_;
    return nullptr;
  }

  const bool escape_formulas_;
  core::NameCache metrics_, keys_;
  std::string host_, pid_, process_, others_, tail_;
};

// A word of OpenTSDB.
void append_word(std::string &out, std::string_view text) {
  static constexpr std::string_view kMarks = "-_./";
  while (!text.empty()) {
    const core::CodePoint point = core::first_code_point(text);
    const char byte = text[0];
    const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
    if (point.size > 1) {
      out += text.substr(0, point.size);
    } else {
      out += letter || kMarks.find(byte) != std::string_view::npos ? byte : '_';
    }
    text.remove_prefix(std::max<size_t>(point.size, 1));
  }
}

class LineEncoder final : public core::Encoder {
 public:
  explicit LineEncoder(const core::NameOf &name_of)
      : names_(name_of, [](std::string_view name, std::string &out) { append_word(out, name); }) {}

  std::string_view append(const atalaya_sample &sample, std::string &out) override {
    if (sample.kind == ATALAYA_STACK) return "line has no form for stacks";
    if (sample.kind == ATALAYA_SPAN) return "line has no form for spans";
    tail_.clear();
    for (uint32_t i = 0; i < sample.tag_count; ++i) {
      const core::NameCache::Name *key = names_.find(sample.tags[i].key);
      if (key == nullptr || sample.tags[i].value.size == 0) continue;  // the protocol has no empty values
      tail_ += ' ';
      tail_ += key->text;
      tail_ += '=';
      append_word(tail_, core::encoders::view(sample.tags[i].value));
    }
    tail_ += '\n';
    bool any = false;
    for (uint32_t i = 0; i < sample.field_count; ++i) {
      const atalaya_field &field = sample.fields[i];
      const core::NameCache::Name *name = core::encoders::finite(field) ? names_.find(field.name) : nullptr;
      if (name == nullptr) continue;
      out += name->text;
      out += ' ';
      core::append_integer(out, sample.time_ns / core::encoders::kNanosPerMilli);
      out += ' ';
      core::encoders::append_value(field, out);
      out += tail_;
      any = true;
    }
    return any ? std::string_view{} : core::encoders::kNoValue;
  }

 private:
  core::NameCache names_;
  std::string tail_;
};

}  // namespace

std::unique_ptr<core::Encoder> make_csv(const core::NameOf &name_of, bool escape_formulas) {
  return std::make_unique<CsvEncoder>(name_of, escape_formulas);
}

std::unique_ptr<core::Encoder> make_line(const core::NameOf &name_of) {
  return std::make_unique<LineEncoder>(name_of);
}

}  // namespace atalaya::protocols
