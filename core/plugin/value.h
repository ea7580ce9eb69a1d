// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace atalaya::core {

// An operator's value for a parameter, before it is checked against a schema. Map keys are sorted, so that equal files have equal
// values.
struct Value {
  enum class Type { nil, boolean, integer, number, string, table, function };

  Type type = Type::nil;
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;
  std::string string;
  std::vector<Value> list;                         // a table's elements 1..n
  std::vector<std::pair<std::string, Value>> map;  // a table's other keys, sorted

  bool operator==(const Value &) const = default;
};

// One error in an operator's value. `path` is the parameter ("rules[3].match"); "": the component itself.
struct Problem {
  std::string path;
  std::string text;  // without file, line and component, which the caller adds
};

}  // namespace atalaya::core
