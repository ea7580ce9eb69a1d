// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "plugins/shared/analysis/bottleneck/tasks.h"
#include "plugins/shared/analysis/query/json_writer.h"

namespace atalaya::bottleneck {

// An object whose unknown values are left out.
class Object {
 public:
  explicit Object(query::JsonWriter &out) : out_(out) { out_.object(); }
  ~Object() { out_.end_object(); }
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;

  query::JsonWriter &key(const char *name) { return out_.key(name); }
  void text(const char *name, std::string_view text) {
    if (!text.empty()) key(name).text(text);
  }
  void number(const char *name, double value) {
    if (std::isfinite(value)) key(name).number(value);
  }
  void count(const char *name, int64_t value) {
    if (value != kUnknown) key(name).integer(value);
  }
  void flag(const char *name, bool value) { key(name).boolean(value); }
  // Each of them, written by a function.
  template <class List, class Add>
  void list(const char *name, const List &list, Add &&add) {
    key(name).list();
    for (const auto &one : list) add(one);
    out_.end_list();
  }

 private:
  query::JsonWriter &out_;
};

}  // namespace atalaya::bottleneck
