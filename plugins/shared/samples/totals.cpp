// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/samples/totals.h"

#include <cmath>

namespace atalaya::core {
namespace {

double number(const atalaya_field &field) {
  return field.type == ATALAYA_I64 ? static_cast<double>(field.value.i64) : field.value.f64;
}

bool less(const atalaya_field &a, const atalaya_field &b) {
  if (a.type == ATALAYA_I64 && b.type == ATALAYA_I64) return a.value.i64 < b.value.i64;
  return number(a) < number(b);
}

atalaya_field integer_field(uint32_t name, int64_t value) {
  atalaya_field field{name, ATALAYA_I64, {}};
  field.value.i64 = value;
  return field;
}

atalaya_field double_field(uint32_t name, double value) {
  atalaya_field field{name, ATALAYA_F64, {}};
  field.value.f64 = value;
  return field;
}

}  // namespace

void Total::add(const atalaya_field &field) {
  if (count_ == 0 || less(field, least_)) least_ = field;
  if (count_ == 0 || less(greatest_, field)) greatest_ = field;
  ++count_;
  int64_t sum = 0;
  if (integral_ && field.type == ATALAYA_I64 && !__builtin_add_overflow(integer_, field.value.i64, &sum))
    integer_ = sum;
  else
    add_double(number(field));
}

void Total::add_double(double value) {
  if (integral_) {
    integral_ = false;
    sum_ = static_cast<double>(integer_);
  }
  const double sum = sum_ + value;
  // No compensation for an infinity: it would make the sum NaN.
  if (std::isfinite(sum)) lost_ += std::fabs(sum_) >= std::fabs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
  sum_ = sum;
}

atalaya_field Total::result(Function function) const {
  switch (function) {
    case Function::least:
      return least_;
    case Function::greatest:
      return greatest_;
    case Function::count:
      return integer_field(name_, count_);
    case Function::average: {
      const double sum = integral_ ? static_cast<double>(integer_) : sum_ + lost_;
      return double_field(name_, sum / static_cast<double>(count_));
    }
    case Function::sum:
      break;
  }
  return integral_ ? integer_field(name_, integer_) : double_field(name_, sum_ + lost_);
}

void Totals::add(const atalaya_sample &sample) {
  size_t at = 0;
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const uint32_t name = sample.fields[i].name;
    size_t left = totals_.size();
    for (; left > 0; --left, ++at) {
      if (at >= totals_.size()) at = 0;
      if (totals_[at].name() == name) break;
    }
    if (left == 0) {
      at = totals_.size();
      totals_.emplace_back(name);
    }
    totals_[at++].add(sample.fields[i]);
  }
}

}  // namespace atalaya::core
