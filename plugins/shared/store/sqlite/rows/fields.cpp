// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/rows/fields.h"
#include "core/base/text.h"

#include <array>
#include <charconv>
#include <cstddef>

namespace atalaya::store {
namespace {

// Powers of ten that a double holds exactly.
constexpr std::array<double, 16> kTens = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

}  // namespace

bool ObjectReader::fail() {
  damaged_ = true;
  at_ = end_;
  return false;
}

bool ObjectReader::next_key() {
  if (done_ || damaged_) return false;
  is_first_ = at_ == begin_;
  if (is_first_ && !take('{')) return fail();
  if (take('}')) {
    done_ = true;
    return at_ == end_ ? false : fail();
  }
  if (!is_first_ && !take(',')) return fail();
  key_text_ = at_;
  if (!take('"')) return fail();
  const auto key = std::from_chars(at_, end_, key_);
  if (key.ec != std::errc{}) return fail();
  at_ = key.ptr;
  return take('"') && take(':') ? true : fail();
}

bool FieldReader::next() {
  if (!object_.next_key()) return false;
  return read_value();
}

// A text with other characters than those of a number is damaged.
bool FieldReader::skip_value() {
  const char *at = object_.at();
  while (at < object_.end() && (core::is_digit(*at) || *at == '.' || *at == '-' || *at == '+' || *at == 'e' || *at == 'E')) ++at;
  if (at == object_.at() || !is_over(at)) return object_.fail();
  object_.move_to(at);
  return true;
}

// Most numbers are short: their digits are an integer that a double holds exactly, and so is the power of ten below the point, so
// that one division gives the nearest double.
bool FieldReader::read_short_number() {
  constexpr ptrdiff_t kDigits = 15;
  const char *const end = object_.end();
  const bool negative = object_.left() > 0 && *object_.at() == '-';
  const char *at = object_.at() + (negative ? 1 : 0);
  const char *const begin = at;
  int64_t digits = 0;
  const auto read_digits = [&] {
    for (; at < end && core::is_digit(*at) && at - begin <= kDigits; ++at) digits = digits * 10 + (*at - '0');
  };
  read_digits();
  const char *const point = at;
  if (point == begin) return false;
  value_.is_count = at == end || *at != '.';
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
  object_.move_to(at);
  return true;
}

bool FieldReader::read_number() {
  const auto count = std::from_chars(object_.at(), object_.end(), value_.count);
  value_.is_count = count.ec == std::errc{} && is_over(count.ptr);
  if (value_.is_count) return object_.move_to(count.ptr), true;
  const auto real = std::from_chars(object_.at(), object_.end(), value_.real);
  if (real.ec != std::errc{}) return false;
  object_.move_to(real.ptr);
  return true;
}

}  // namespace atalaya::store
