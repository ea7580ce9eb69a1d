// SPDX-License-Identifier: Apache-2.0
// Writes JSON values in their order; adds the commas.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text/json.h"

namespace atalaya::core {

// Values outside of a list or an object are separated by commas too: the caller writes the brackets around such parts of a
// document.
class JsonWriter {
 public:
  JsonWriter() : JsonWriter(own_) {}
  // Appends to a text of the caller.
  explicit JsonWriter(std::string &out) : text_(out), start_(out.size()) {}
  JsonWriter(const JsonWriter &) = delete;
  JsonWriter &operator=(const JsonWriter &) = delete;

  JsonWriter &object() { return raw("{"); }
  JsonWriter &list() { return raw("["); }
  JsonWriter &end_object() { return closed('}'); }
  JsonWriter &end_list() { return closed(']'); }
  JsonWriter &key(std::string_view name) {
    text(name).text_ += ':';
    return *this;
  }
  JsonWriter &key(int64_t name) {
    raw("\"");
    append_integer(text_, name);
    text_ += "\":";
    return *this;
  }

  JsonWriter &text(std::string_view value) {
    comma();
    append_json_string(text_, value);
    return *this;
  }
  // null for an empty text
  JsonWriter &text_or_null(std::string_view value) { return value.empty() ? null() : text(value); }
  // null for an unknown or not finite number
  JsonWriter &number(std::optional<double> value) {
    if (!value || !std::isfinite(*value)) return null();
    comma();
    append_number(text_, *value);
    return *this;
  }
  // As append_real. The value must be finite.
  JsonWriter &real(double value) {
    comma();
    append_real(text_, value);
    return *this;
  }
  JsonWriter &integer(int64_t value) {
    comma();
    append_integer(text_, value);
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
  // The next key or value is on a new line, unless it is the first one.
  JsonWriter &line() { return text_.ends_with('[') || text_.ends_with('{') ? *this : raw("\n"); }
  // The texts of a list.
  template <class List>
  JsonWriter &texts(const List &list) {
    this->list();
    for (const auto &one : list) text(one);
    return end_list();
  }
  // An object of texts.
  template <class Map>
  JsonWriter &members(const Map &map) {
    object();
    for (const auto &[member, value] : map) key(member).text(value);
    return end_object();
  }

  std::string take() { return std::move(text_); }
  size_t size() const { return text_.size(); }

 private:
  JsonWriter &closed(char sign) {
    text_ += sign;
    return *this;
  }
  void comma() {
    if (text_.size() == start_) return;
    const char last = text_.back();
    if (last != '{' && last != '[' && last != ':' && last != ',' && last != '\n') text_ += ',';
  }

  std::string own_;
  std::string &text_;
  const size_t start_;
};

// Writes a JSON object, from the construction to the end of the scope. Leaves out unknown values: empty texts and numbers that are
// not finite.
class JsonObject {
 public:
  explicit JsonObject(JsonWriter &out) : out_(out) { out_.object(); }
  ~JsonObject() { out_.end_object(); }
  JsonObject(const JsonObject &) = delete;
  JsonObject &operator=(const JsonObject &) = delete;

  JsonWriter &key(std::string_view name) { return out_.key(name); }
  void text(std::string_view name, std::string_view text) {
    if (!text.empty()) key(name).text(text);
  }
  void number(std::string_view name, std::optional<double> value) {
    if (value && std::isfinite(*value)) key(name).number(value);
  }
  void count(std::string_view name, size_t value) { key(name).count(value); }
  void flag(std::string_view name, bool value) { key(name).boolean(value); }
  // A list; `add` writes each element.
  template <class List, class Add>
  void list(std::string_view name, const List &list, Add &&add) {
    key(name).list();
    for (const auto &one : list) add(one);
    out_.end_list();
  }
  // A list of objects; `fill` writes the members of each.
  template <class List, class Fill>
  void objects(std::string_view name, const List &list, Fill &&fill) {
    this->list(name, list, [&](const auto &one) {
      JsonObject object(out_);
      fill(object, one);
    });
  }
  void texts(std::string_view name, const std::vector<std::string> &texts) { key(name).texts(texts); }
  // An object of texts.
  template <class Map>
  void members(std::string_view name, const Map &map) {
    key(name).members(map);
  }

 private:
  JsonWriter &out_;
};

}  // namespace atalaya::core
