// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <span>
#include <vector>

namespace atalaya::io {

enum class Function { sum, average, minimum, maximum, count };

// A sum of fields. A sum of integers is exact; it becomes a double if it exceeds int64 or one of its fields is a double. Doubles
// are added with compensation (Neumaier's variant of Kahan summation), so that their order has no significant effect.
class Sum {
 public:
  void add(const atalaya_field &field);
  void add_double(double value);
  atalaya_field field(uint32_t name) const;
  double value() const { return is_count_ ? static_cast<double>(count_) : sum_ + lost_; }

 private:
  bool is_count_ = true;
  int64_t count_ = 0;
  double sum_ = 0, lost_ = 0;
};

// How the value of a sample counts in the value of its group.
enum class Weight {
  whole,    // fully: amounts and totals
  by_time,  // in proportion to its window: gauges and rates, whose integrals over time are added
};

// The values of one field in a group. Their windows may have different lengths; a value without a window has that of the group.
class Total {
 public:
  explicit Total(uint32_t name) : name_(name) {}

  uint32_t name() const { return name_; }
  void add(const atalaya_field &field, int64_t duration_ns);
  // `length_ns`: length of the group's window, which contains the windows of all values.
  atalaya_field result(Function function, Weight weight, int64_t length_ns) const;

 private:
  Sum sum_, over_time_;  // over_time: value x ns
  double instants_ = 0;  // the sum of values without a window
  int64_t count_ = 0;
  int64_t duration_ns_ = 0;
  double all_ns_ = 0;
  bool durations_differ_ = false;
  atalaya_field minimum_{}, maximum_{};
  uint32_t name_;
};

// The totals of a group of samples, one per field name. Samples of one source have their fields in one order, so that the search
// usually ends at its first step.
class Totals {
 public:
  void clear() { totals_.clear(); }
  void add(const atalaya_sample &sample, int64_t duration_ns);
  std::span<const Total> all() const { return totals_; }

 private:
  std::vector<Total> totals_;
};

}  // namespace atalaya::io
