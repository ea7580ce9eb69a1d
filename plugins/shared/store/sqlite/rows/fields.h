// SPDX-License-Identifier: Apache-2.0
// The numbers of a sample as the tables hold them: a JSON object from metric id to number.
#pragma once

#include <cstddef>
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

// A JSON object whose keys are integers, key after key; whoever uses it steps over the values.
class ObjectReader {
 public:
  explicit ObjectReader(std::string_view text) : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  bool next_key();  // false at the end, and where it is damaged
  int64_t key() const { return key_; }
  bool is_first() const { return is_first_; }  // key
  bool damaged() const { return damaged_; }

  const char *key_text() const { return key_text_; }
  const char *at() const { return at_; }
  const char *end() const { return end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  void move_to(const char *at) { at_ = at; }
  bool take(char wanted) {
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }
  bool fail();

 private:
  const char *begin_, *at_, *end_, *key_text_ = nullptr;
  bool is_first_ = false, done_ = false, damaged_ = false;
  int64_t key_ = 0;
};

// Reads one field after another; text that is no such object ends it, with `damaged`.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : object_(text) {}
  bool next();  // false at the end
  // The same in two steps: only the numbers of some metrics are read, the others are stepped over.
  bool next_key() { return object_.next_key(); }
  bool read_value() { return read_short_number() || read_number() ? true : object_.fail(); }
  bool skip_value();
  int64_t metric() const { return object_.key(); }
  const Number &value() const { return value_; }
  // The field as it stands there, with its key.
  std::string_view text() const { return {object_.key_text(), static_cast<size_t>(object_.at() - object_.key_text())}; }
  bool damaged() const { return object_.damaged(); }

 private:
  bool is_over(const char *at) const { return at == object_.end() || *at == ',' || *at == '}'; }
  bool read_short_number();
  bool read_number();

  ObjectReader object_;
  Number value_;
};

}  // namespace atalaya::store
