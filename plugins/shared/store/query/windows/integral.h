// SPDX-License-Identifier: Apache-2.0
// The integral of one series over each interval.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"
#include "plugins/shared/store/query/windows/downsample.h"
#include "plugins/shared/store/query/windows/hold.h"

namespace atalaya::query {

class Integral {
 public:
  // `amounts`: the values are amounts of their windows. They are added, and not divided by the collected time.
  Integral(const Intervals &intervals, bool amounts, const store::CollectedTime &collected, Budget &budget)
      : intervals_(intervals), amounts_(amounts), collected_(&collected), budget_(budget) {}

  // Windows may be added in any order, instants in order of time.
  void add(int64_t time_ns, int64_t duration_ns, double value);
  void add(const store::Points &points);
  // Adds a summary of complete windows in one interval. False if that is not certain.
  bool add(const store::Summary &summary);

  const ValueWindows &value_windows() const { return value_windows_; }
  size_t size() const { return parts_.size(); }
  // integral over the range, in value x ns; for amounts the sum. It includes a single instant only after `take`.
  double total() const { return total_; }
  // Returns the points and releases them from the budget.
  std::vector<Point> take();

 private:
  // An interval with windows.
  struct Part {
    int64_t begin_ns = 0, covered_ns = 0;  // start and length of the time with windows
    double amount = 0;
  };
  void add_held(const ValueWindow &held);
  void add_interval(int64_t begin_ns, int64_t end_ns, double per_ns);
  void put(int64_t begin_ns, double amount, int64_t covered_ns);
  void add_alone(const ValueWindow &instant);
  double collected_in(const Part &part) const;

  const Intervals &intervals_;
  const bool amounts_;
  const store::CollectedTime *collected_;
  Budget &budget_;
  ValueWindows value_windows_;
  int64_t interval_ns_ = 0, interval_end_ns_ = 0;  // interval of the last added value
  double total_ = 0;
  std::vector<Part> parts_;  // in order of time
};

}  // namespace atalaya::query
