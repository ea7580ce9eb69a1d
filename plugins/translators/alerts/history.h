// SPDX-License-Identifier: Apache-2.0
// The recent values of one series: the time `over` of a rule is divided into slots, and each slot stores a summary of its values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "plugins/translators/alerts/gaps.h"
#include "plugins/translators/alerts/rules.h"

namespace atalaya::alerts {

class History {
 public:
  static constexpr size_t kSlots = 32;

  // Adds a value; a value that is older than the last one is ignored.
  void add(const Rule &rule, int64_t time_ns, double value);
  // Returns the number that the rule compares; nothing while less than half of `over` was collected. `over` is collected time.
  std::optional<double> number(const Rule &rule, int64_t time_ns, const Gaps &gaps) const;

 private:
  struct Slot {
    int64_t begin_ns = 0;
    int64_t first_ns = 0, last_ns = 0;
    double sum = 0, max = 0, first = 0, last = 0;
    size_t count = 0;
    double mean() const { return sum / static_cast<double>(count); }
  };

  const Slot &slot(size_t age) const { return slots_[(next_ + kSlots - 1 - age) % kSlots]; }  // 0: the newest
  // The number of slots that are later than that time.
  size_t later_than(int64_t time_ns) const;
  double total(size_t count) const;
  std::optional<double> rate(size_t count) const;
  std::optional<double> forecast(const Rule &rule, size_t count, int64_t time_ns) const;
  std::optional<double> anomaly(size_t count) const;

  std::array<Slot, kSlots> slots_;
  size_t next_ = 0, used_ = 0;
  int64_t first_ns_ = 0;
};

}  // namespace atalaya::alerts
