// SPDX-License-Identifier: Apache-2.0
// The integral of one series over each interval.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"
#include "plugins/shared/store/query/windows/downsample.h"
#include "plugins/shared/store/query/windows/hold.h"

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
  // An instant that has no weight next to windows: the time before it and after it, until the next sample, was not collected.
  void instant(int64_t time_ns) { see(time_ns, time_ns, true); }
  // A summary of whole windows in one interval. False: it is not known to be one, or an instant before it has no length yet.
  bool add(const store::Summary &summary);

  const Hold &hold() const { return hold_; }
  size_t size() const { return parts_.size(); }
  double total() const { return total_; }  // over the range, by ns; of amounts their sum. After `take` with an instant alone
  // `step_ns`: the length of an instant whose series has no other sample; 0: the interval. The points are no longer in the budget.
  std::vector<Point> take(const Known &known, int64_t step_ns);

 private:
  // An interval with windows.
  struct Part {
    int64_t begin_ns = 0, covered_ns = 0;  // by windows
    double amount = 0;
  };
  // Time without collection.
  struct Gap {
    int64_t begin_ns = 0, end_ns = 0;
  };

  void see(int64_t begin_ns, int64_t end_ns, bool is_instant);
  int64_t missing_in(int64_t begin_ns, int64_t end_ns) const;
  void add_held(const Held &held);
  void add_interval(int64_t begin_ns, int64_t end_ns, double per_ns);
  void put(int64_t begin_ns, double amount, int64_t covered_ns);
  void add_alone(const Held &instant, int64_t step_ns);
  double collected_in(const Part &part, const Known &known) const;

  const Intervals &intervals_;
  const bool amounts_;
  Budget &budget_;
  Hold hold_;
  int64_t interval_ns_ = 0, interval_end_ns_ = 0;  // of the last stretch
  double total_ = 0;
  std::vector<Part> parts_;                               // in order of time
  int64_t end_ns_ = std::numeric_limits<int64_t>::min();  // of the samples so far
  bool is_after_instant_ = false;                         // which ends them
  std::vector<Gap> gaps_;                                 // in order of time
};

}  // namespace atalaya::query
