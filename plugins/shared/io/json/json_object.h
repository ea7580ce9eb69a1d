// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/io/json/json_writer.h"

namespace atalaya::io {

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
  void texts(std::string_view name, const std::vector<std::string> &texts) {
    list(name, texts, [&](const std::string &text) { out_.text(text); });
  }
  // An object of texts.
  template <class Map>
  void members(std::string_view name, const Map &map) {
    JsonObject object(key(name));
    for (const auto &[member, text] : map) object.key(member).text(text);
  }

 private:
  JsonWriter &out_;
};

}  // namespace atalaya::io
