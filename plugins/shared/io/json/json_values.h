// SPDX-License-Identifier: Apache-2.0
// Lenient access to JSON objects: missing values and values of another type are empty.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace atalaya::io {

using JsonElement = simdjson::dom::element;
using JsonObject = simdjson::dom::object;

inline std::optional<JsonElement> member(const JsonObject &of, std::string_view key) {
  JsonElement value;
  if (of.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return value;
}

inline std::optional<JsonObject> object_of(const JsonObject &of, std::string_view key) {
  JsonObject value;
  const auto found = member(of, key);
  if (!found || found->get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

inline std::string_view text_of(const JsonObject &of, std::string_view key) {
  std::string_view text;
  const auto found = member(of, key);
  return found && found->get(text) == simdjson::SUCCESS ? text : std::string_view{};
}

inline std::optional<int64_t> integer_of(const JsonObject &of, std::string_view key) {
  int64_t number = 0;
  const auto found = member(of, key);
  if (!found || found->get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}

}  // namespace atalaya::io
