// SPDX-License-Identifier: Apache-2.0
// Applies a function to the windows of one series in each interval.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"
#include "plugins/shared/store/query/windows/downsample.h"

namespace atalaya::query {

// A value counts in each interval that its window overlaps; in an average, in proportion to the overlap. So the result does not
// depend on the length of windows, nor on windows of equal values that were merged into one. An instant has its value at its
// time; averages ignore instants.
class OverTime {
 public:
  OverTime(const Intervals &intervals, const Aggregator &function, Budget &budget)
      : intervals_(intervals), function_(function.function), budget_(budget) {}

  // Returns true for avg, min, max, first and last. Other functions need samples: their number, their sum, their order by size.
  static bool supports(const Aggregator &function);

  // Windows and instants may be added in any order.
  void add(int64_t time_ns, int64_t duration_ns, double value);
  // Adds a summary of complete windows in one interval. False if that is not certain.
  bool add(const store::Summary &summary);
  // Adds rolled windows to the interval in which their step ends. `plain` is the point in their place.
  void add_rolled(const store::Summary &summary, const store::Points &plain);
  // Returns the points and releases them from the budget.
  std::vector<Point> take();

 private:
  struct Part {
    int64_t begin_ns = 0;  // start of its interval
    double value = 0;
    int64_t ns = 0;  // for an average: length of the time with values; for first and last: start or end of the value
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
