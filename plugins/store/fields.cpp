// SPDX-License-Identifier: Apache-2.0
#include "plugins/store/fields.h"

#include <array>
#include <charconv>
#include <cstddef>

namespace atalaya::store {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Powers of ten that a double holds exactly.
constexpr std::array<double, 16> kTens = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

}  // namespace

FieldReader::FieldReader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {
  if (!take('{')) fail();
}

bool FieldReader::fail() {
  damaged_ = true;
  at_ = end_;
  return false;
}

bool FieldReader::take(char wanted) {
  if (at_ == end_ || *at_ != wanted) return false;
  ++at_;
  return true;
}

bool FieldReader::next() {
  if (done_ || damaged_) return false;
  if (take('}')) {
    done_ = true;
    return at_ == end_ ? false : fail();
  }
  if (!first_ && !take(',')) return fail();
  first_ = false;
  if (!take('"')) return fail();
  const auto key = std::from_chars(at_, end_, metric_);
  if (key.ec != std::errc{}) return fail();
  at_ = key.ptr;
  if (!take('"') || !take(':')) return fail();
  return read_short_number() || read_number() ? true : fail();
}

bool FieldReader::is_over(const char *at) const {
  return at == end_ || *at == ',' || *at == '}';
}

// Most numbers are short: their digits are an integer that a double holds exactly, and so is the power of ten below the point, so
// that one division gives the nearest double.
bool FieldReader::read_short_number() {
  constexpr ptrdiff_t kDigits = 15;
  const bool negative = at_ < end_ && *at_ == '-';
  const char *at = at_ + (negative ? 1 : 0);
  const char *const begin = at;
  int64_t digits = 0;
  const auto read_digits = [&] {
    for (; at < end_ && is_digit(*at) && at - begin <= kDigits; ++at) digits = digits * 10 + (*at - '0');
  };
  read_digits();
  const char *const point = at;
  if (point == begin) return false;
  value_.is_count = at == end_ || *at != '.';
  if (!value_.is_count) {
    ++at;
    read_digits();
  }
  if (!is_over(at) || at - begin > kDigits) return false;
  if (value_.is_count) {
    value_.count = negative ? -digits : digits;
  } else {
    const double real = static_cast<double>(digits) / kTens.at(static_cast<size_t>(at - point - 1));
    value_.real = negative ? -real : real;
  }
  at_ = at;
  return true;
}

bool FieldReader::read_number() {
  const auto count = std::from_chars(at_, end_, value_.count);
  value_.is_count = count.ec == std::errc{} && is_over(count.ptr);
  if (value_.is_count) return at_ = count.ptr, true;
  const auto real = std::from_chars(at_, end_, value_.real);
  if (real.ec != std::errc{}) return false;
  at_ = real.ptr;
  return true;
}

}  // namespace atalaya::store
