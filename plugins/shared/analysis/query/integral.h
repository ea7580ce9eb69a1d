// SPDX-License-Identifier: Apache-2.0
// The integral of one series over each interval.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/shared/analysis/query/budget.h"
#include "plugins/shared/analysis/query/downsample.h"
#include "plugins/shared/analysis/query/hold.h"
#include "plugins/shared/analysis/query/types.h"

namespace atalaya::query {

// The newest samples of all series of a query: time after them is not known yet.
struct Known {
  int64_t until_ns = 0, window_ns = 0;

  void add(const Known &other) {
    if (other.until_ns > until_ns) *this = other;
  }
  void add(const Hold &hold) { add(Known{hold.last_ns(), hold.step_ns()}); }
};

class Integral {
 public:
  // `amounts`: the values are amounts of their windows. They are added, and not divided by the time.
  Integral(const Intervals &intervals, bool amounts, Budget &budget) : intervals_(intervals), amounts_(amounts), budget_(budget) {}

  // Windows come in any order, instants in that of time.
  void add(int64_t time_ns, int64_t duration_ns, double value);
  void add(const store::Points &points);
  // A summary of whole windows in one interval. False: it is not known to be one, or an instant before it has no length yet.
  bool add(const store::Summary &summary);

  const Hold &hold() const { return hold_; }
  size_t size() const { return points_.size(); }
  double total() const { return total_; }  // over the range, by ns; of amounts their sum. After `take` with an instant alone
  // `step_ns`: the length of an instant whose series has no other sample; 0: the interval. The points are no longer in the budget.
  std::vector<Point> take(const Known &known, int64_t step_ns);

 private:
  void add_held(const Held &held);
  void add_stretch(int64_t begin_ns, int64_t end_ns, double per_ns);
  void put(int64_t begin_ns, double amount);
  void add_alone(const Held &instant, int64_t step_ns);
  double length_of(int64_t begin_ns, const Known &known) const;

  const Intervals &intervals_;
  const bool amounts_;
  Budget &budget_;
  Hold hold_;
  int64_t interval_ns_ = 0, interval_end_ns_ = 0;  // of the last stretch
  double total_ = 0;
  std::vector<Point> points_;  // time: the begin of the interval
};

}  // namespace atalaya::query
