// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/samples/totals.h"

#include <cmath>

namespace atalaya::io {
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

void Sum::add(const atalaya_field &field) {
  int64_t sum = 0;
  if (is_count_ && field.type == ATALAYA_I64 && !__builtin_add_overflow(count_, field.value.i64, &sum))
    count_ = sum;
  else
    add_double(number(field));
}

void Sum::add_double(double value) {
  if (is_count_) {
    is_count_ = false;
    sum_ = static_cast<double>(count_);
  }
  const double sum = sum_ + value;
  // An infinity is added without compensation, which would make the sum NaN.
  if (std::isfinite(sum)) lost_ += std::fabs(sum_) >= std::fabs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
  sum_ = sum;
}

atalaya_field Sum::field(uint32_t name) const {
  return is_count_ ? integer_field(name, count_) : double_field(name, value());
}

void Total::add(const atalaya_field &field, int64_t duration_ns) {
  if (count_ == 0 || less(field, minimum_)) minimum_ = field;
  if (count_ == 0 || less(maximum_, field)) maximum_ = field;
  durations_differ_ = durations_differ_ || (count_ > 0 && duration_ns != duration_ns_);
  duration_ns_ = duration_ns;
  ++count_;
  sum_.add(field);
  if (duration_ns > 0) {
    over_time_.add_double(number(field) * static_cast<double>(duration_ns));
    all_ns_ += static_cast<double>(duration_ns);
  } else {
    instants_ += number(field);
  }
}

atalaya_field Total::result(Function function, Weight weight, int64_t length_ns) const {
  const bool is_weighted = weight == Weight::by_time && all_ns_ > 0;
  switch (function) {
    case Function::minimum:
      return minimum_;
    case Function::maximum:
      return maximum_;
    case Function::count:
      return integer_field(name_, count_);
    case Function::average:
      if (is_weighted && durations_differ_) return double_field(name_, over_time_.value() / all_ns_);
      return double_field(name_, sum_.value() / static_cast<double>(count_));
    case Function::sum:
      break;
  }
  if (is_weighted && (durations_differ_ || duration_ns_ != length_ns))
    return double_field(name_, over_time_.value() / static_cast<double>(length_ns) + instants_);
  return sum_.field(name_);
}

void Totals::add(const atalaya_sample &sample, int64_t duration_ns) {
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
    totals_[at++].add(sample.fields[i], duration_ns);
  }
}

}  // namespace atalaya::io
