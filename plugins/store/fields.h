// SPDX-License-Identifier: Apache-2.0
// The numbers of a row as the column `fields` holds them: a JSON object from metric id to number.
#pragma once

#include <cstdint>
#include <string_view>

namespace atalaya::store {

// A number with its type: a count is exact in all 64 bits.
struct Number {
  bool is_count = false;
  union {
    double real = 0;
    int64_t count;
  };
  double as_real() const { return is_count ? static_cast<double>(count) : real; }
};

// Reads one field after another; what is no such object ends it, with `damaged`.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text);
  bool next();  // false at the end
  int64_t metric() const { return metric_; }
  const Number &value() const { return value_; }
  bool damaged() const { return damaged_; }

 private:
  bool fail();
  bool take(char wanted);
  bool is_over(const char *at) const;
  bool read_short_number();
  bool read_number();

  const char *at_, *end_;
  bool first_ = true, done_ = false, damaged_ = false;
  int64_t metric_ = 0;
  Number value_;
};

}  // namespace atalaya::store
