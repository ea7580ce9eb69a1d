// SPDX-License-Identifier: Apache-2.0
// The content of a line, from which a sample is made. Texts are views of the line.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atalaya::btrace {

struct Number {
  bool is_count = false;
  int64_t count = 0;
  double value = 0;
  bool operator==(const Number &) const = default;
};

using Tag = std::pair<std::string_view, std::string_view>;
using Field = std::pair<std::string_view, Number>;

struct Record {
  uint32_t kind = ATALAYA_METRICS;
  int64_t time_ns = 0;  // 0: time of reading
  int64_t duration_ns = 0;
  std::string_view text;
  std::vector<Tag> tags;
  std::vector<Field> fields;

  void clear() {
    kind = ATALAYA_METRICS;
    time_ns = duration_ns = 0;
    text = {};
    tags.clear();
    fields.clear();
  }
};

using Output = std::function<void(const Record &)>;

inline constexpr Number count_of(int64_t count) {
  return {true, count, 0};
}

// Parses an integer exactly, other numbers as double; nothing for NaN, Infinity, overflows and other texts.
std::optional<Number> parse_number(std::string_view text);
std::optional<int64_t> parse_integer(std::string_view text);

}  // namespace atalaya::btrace
