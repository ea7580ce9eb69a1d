// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <span>
#include <vector>

namespace atalaya::core {

enum class Function { sum, average, least, greatest, count };

// Sums the values of one field. Counts stay exact int64; a sum of counts that leaves the range of int64 becomes a double, as
// does one with a double among its parts. Doubles are added with compensation (Neumaier), so that their order makes no significant
// difference.
class Total {
 public:
  explicit Total(uint32_t name) : name_(name) {}

  uint32_t name() const { return name_; }
  void add(const atalaya_field &field);
  atalaya_field result(Function function) const;

 private:
  void add_double(double value);

  uint32_t name_;
  bool integral_ = true;
  int64_t count_ = 0, integer_ = 0;
  double sum_ = 0, lost_ = 0;
  atalaya_field least_{}, greatest_{};
};

// The totals of a group of samples, one per field name. Samples of one source have their fields in one order, so that the search
// usually ends at its first step.
class Totals {
 public:
  void clear() { totals_.clear(); }
  void add(const atalaya_sample &sample);
  std::span<const Total> all() const { return totals_; }

 private:
  std::vector<Total> totals_;
};

}  // namespace atalaya::core
