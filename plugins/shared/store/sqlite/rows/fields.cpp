// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/rows/fields.h"
#include "core/base/text/text.h"

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

bool ObjectReader::accept_integer(int64_t &value) {
  const auto integer = std::from_chars(at_, end_, value);
  if (integer.ec != std::errc{}) return false;
  at_ = integer.ptr;
  return true;
}

bool ObjectReader::next_key() {
  if (done_ || damaged_) return false;
  const bool is_first = at_ == begin_;
  if (is_first && !accept('{')) return fail();
  if (accept('}')) {
    done_ = true;
    return at_ == end_ ? false : fail();
  }
  if (!is_first && !accept(',')) return fail();
  return accept('"') && accept_integer(key_) && accept('"') && accept(':') ? true : fail();
}

bool FieldReader::next() {
  return next_key() && read_value();
}

bool FieldReader::next_place() {
  const size_t count = metrics_.size();
  if (damaged() || place_ > count) return false;
  const bool is_list = count > 1;
  if (place_ == count) {
    ++place_;
    return (!is_list || text_.accept(']')) && text_.remaining() == 0 ? false : text_.fail();
  }
  if (is_list && !text_.accept(place_ == 0 ? '[' : ',')) return text_.fail();
  ++place_;
  return true;
}

// A text with other characters than those of a number is damaged.
bool FieldReader::skip_value() {
  const char *at = text_.position();
  while (at < text_.end() && (core::is_digit(*at) || *at == '.' || *at == '-' || *at == '+' || *at == 'e' || *at == 'E')) ++at;
  if (at == text_.position() || !is_over(at)) return text_.fail();
  text_.move_to(at);
  return true;
}

// Most numbers are short: their digits are an integer that a double holds exactly, and so is the power of ten below the point, so
// that one division gives the nearest double.
bool FieldReader::read_short_number() {
  constexpr ptrdiff_t kDigits = 15;
  const char *const end = text_.end();
  const bool negative = text_.remaining() > 0 && *text_.position() == '-';
  const char *at = text_.position() + (negative ? 1 : 0);
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
  text_.move_to(at);
  return true;
}

bool FieldReader::read_number() {
  const auto count = std::from_chars(text_.position(), text_.end(), value_.count);
  value_.is_count = count.ec == std::errc{} && is_over(count.ptr);
  if (value_.is_count) return text_.move_to(count.ptr), true;
  const auto real = std::from_chars(text_.position(), text_.end(), value_.real);
  if (real.ec != std::errc{}) return false;
  text_.move_to(real.ptr);
  return true;
}

}  // namespace atalaya::store
