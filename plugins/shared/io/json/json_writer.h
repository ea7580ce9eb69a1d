// SPDX-License-Identifier: Apache-2.0
// Writes JSON values in their order; adds the commas.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/text/json.h"

namespace atalaya::io {

class JsonWriter {
 public:
  JsonWriter &object() { return opened('{'); }
  JsonWriter &list() { return opened('['); }
  JsonWriter &end_object() { return closed('}'); }
  JsonWriter &end_list() { return closed(']'); }
  JsonWriter &key(std::string_view name) {
    comma();
    core::append_json_string(text_, name);
    text_ += ':';
    return *this;
  }

  JsonWriter &text(std::string_view value) {
    comma();
    core::append_json_string(text_, value);
    return *this;
  }
  // null for an empty text
  JsonWriter &text_or_null(std::string_view value) { return value.empty() ? null() : text(value); }
  // null for an unknown or not finite number
  JsonWriter &number(std::optional<double> value) {
    if (!value || !std::isfinite(*value)) return null();
    comma();
    core::append_number(text_, *value);
    return *this;
  }
  JsonWriter &integer(int64_t value) {
    comma();
    core::append_integer(text_, value);
    return *this;
  }
  JsonWriter &count(size_t value) { return integer(static_cast<int64_t>(value)); }
  JsonWriter &milliseconds(int64_t time_ns) { return integer(time_ns / 1'000'000); }
  JsonWriter &boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter &null() { return raw("null"); }
  // A text that is JSON already.
  JsonWriter &raw(std::string_view json) {
    comma();
    text_ += json;
    return *this;
  }

  std::string take() { return std::move(text_); }
  size_t size() const { return text_.size(); }

 private:
  JsonWriter &opened(char sign) {
    comma();
    text_ += sign;
    return *this;
  }
  JsonWriter &closed(char sign) {
    text_ += sign;
    return *this;
  }
  void comma() {
    if (text_.empty()) return;
    const char last = text_.back();
    if (last != '{' && last != '[' && last != ':' && last != ',') text_ += ',';
  }

  std::string text_;
};

}  // namespace atalaya::io
