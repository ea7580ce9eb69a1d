// SPDX-License-Identifier: Apache-2.0
// The numbers of a sample in the form of the tables: a JSON object from metric id to number, or a list of numbers whose metrics
// are known (block.h).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
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
  uint64_t bits() const { return is_count ? static_cast<uint64_t>(count) : std::bit_cast<uint64_t>(real); }
};

// Iterates over the keys, which are integers, of a JSON object. The caller skips the values.
class ObjectReader {
 public:
  explicit ObjectReader(std::string_view text) : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  bool next_key();  // false at the end, or if the object is damaged
  int64_t key() const { return key_; }
  bool damaged() const { return damaged_; }

  const char *position() const { return at_; }
  const char *end() const { return end_; }
  size_t remaining() const { return static_cast<size_t>(end_ - at_); }
  void move_to(const char *at) { at_ = at; }
  bool accept(char wanted) {
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }
  bool accept_integer(int64_t &value);
  bool fail();

 private:
  const char *begin_, *at_, *end_;
  bool done_ = false, damaged_ = false;
  int64_t key_ = 0;
};

// The fields of a sample of a row. They are valid while the reader is at this sample.
struct SampleFields {
  std::string_view text;             // an object, or the numbers of `metrics`, which are in brackets if there are several
  std::span<const int64_t> metrics;  // empty: `text` is an object
};

// Iterates over the fields. Ends at text that is not such an object or list, with `damaged`.
class FieldReader {
 public:
  explicit FieldReader(std::string_view object) : text_(object) {}
  explicit FieldReader(const SampleFields &fields) : text_(fields.text), metrics_(fields.metrics) {}
  bool next();  // false at the end
  // Divides `next` into two steps, so that only the numbers of some metrics are parsed.
  bool next_key() {
    const bool is_there = metrics_.empty() ? text_.next_key() : next_place();
    value_start_ = text_.position();
    return is_there;
  }
  bool read_value() { return read_short_number() || read_number() ? true : text_.fail(); }
  bool skip_value();
  int64_t metric() const { return metrics_.empty() ? text_.key() : metrics_[place_ - 1]; }
  const Number &value() const { return value_; }
  // The unparsed text of the number.
  std::string_view value_text() const { return {value_start_, static_cast<size_t>(text_.position() - value_start_)}; }
  bool damaged() const { return text_.damaged(); }

 private:
  bool next_place();
  bool is_over(const char *at) const { return at == text_.end() || *at == ',' || *at == '}' || *at == ']'; }
  bool read_short_number();
  bool read_number();

  ObjectReader text_;
  std::span<const int64_t> metrics_;
  size_t place_ = 0;  // index of the next number in `metrics`; one more after the end
  const char *value_start_ = nullptr;
  Number value_;
};

}  // namespace atalaya::store
