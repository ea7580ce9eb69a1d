// SPDX-License-Identifier: Apache-2.0
// A function of the windows of one series over each interval.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"
#include "plugins/shared/store/query/windows/downsample.h"

namespace atalaya::query {

// A value counts in each interval that its window reaches, in an average by that part. So the result does not depend on the length
// of windows, nor on windows of equal values that were merged into one. An instant has its value at its time; averages take none.
class OverTime {
 public:
  OverTime(const Intervals &intervals, const Aggregator &function, Budget &budget)
      : intervals_(intervals), function_(function.function), budget_(budget) {}

  // avg, min, max, first and last. The others are of samples: their number, their sum, their order by size.
  static bool knows(const Aggregator &function);

  // Windows and instants come in any order.
  void add(int64_t time_ns, int64_t duration_ns, double value);
  // A summary of whole windows in one interval. False: it is not known to be one.
  bool add(const store::Summary &summary);
  // Rolled windows, in the interval in which their step ends; `plain` is the point in their place.
  void add_rolled(const store::Summary &summary, const store::Points &plain);
  // The points are no longer in the budget.
  std::vector<Point> take();

 private:
  struct Part {
    int64_t begin_ns = 0;  // of its interval
    double value = 0;
    int64_t ns = 0;  // of an average the time that has values, of first and last the begin and the end of the value
  };
  void add_instant(int64_t time_ns, double value);
  int64_t time_of(int64_t begin_ns, int64_t end_ns) const;
  void put(const Part &part);
  void put(int64_t begin_ns, const store::Summary &summary, double average, int64_t length_ns);

  const Intervals &intervals_;
  const Aggregator::Function function_;
  Budget &budget_;
  std::vector<Part> parts_;  // one per interval, in their order
};

}  // namespace atalaya::query
