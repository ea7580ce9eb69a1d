// SPDX-License-Identifier: Apache-2.0
// The points of one series to one point an interval, as they arrive.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

// "5s", "5s-avg", "1m-p95-zero", "0all-sum" (the whole range): interval, function, fill policy.
core::Result<Downsample> parse_downsample(std::string_view text);

// The intervals of a query: aligned to the epoch, so that every series and every query has the same.
class Intervals {
 public:
  Intervals(const Downsample &downsample, const Range &range, Edge edge);

  // The name of the interval that holds the time.
  int64_t name_of(int64_t time_ns) const;
  int64_t length_ns() const { return length_ns_; }  // 0: the whole range
  // For functions of points, and for integrals.
  store::Steps steps() const { return {length_ns_, edge_ == Edge::end ? offset_ns_ + 1 : offset_ns_, range_}; }
  store::Steps integral_steps() const { return {length_ns_, offset_ns_ + 1, stretch(), true}; }
  // The begin of the interval that holds the moment just after this one, as a stretch of time; its name; and its end.
  int64_t begin_of(int64_t time_ns) const;
  // The begin of the interval that holds an instant of the range.
  int64_t instant_start(int64_t time_ns) const { return begin_of(edge_ == Edge::end ? time_ns - 1 : time_ns); }
  bool has(int64_t time_ns) const { return time_ns > range_.from_ns && time_ns <= range_.to_ns; }
  int64_t interval_name(int64_t begin_ns) const;
  int64_t interval_end(int64_t begin_ns) const;
  // The part in the range of the interval with this name.
  Range range_of(int64_t name_ns) const;
  // The range as a stretch of time.
  Range stretch() const;
  Edge edge() const { return edge_; }
  // All names within the range, for fill policies. `range` is bounded.
  size_t count() const;
  int64_t first() const;

 private:
  int64_t length_ns_, offset_ns_;
  Range range_;
  Edge edge_;
};

class Downsampler {
 public:
  Downsampler(const Intervals &intervals, const Aggregator &function) : intervals_(intervals), function_(function) {}

  void add(int64_t time_ns, double value) {
    if (count_ == 0 || time_ns > interval_last_ || time_ns < interval_first_) begin(time_ns);
    ++count_;
    if (stores_values_) {
      values_.push_back(value);
      return;
    }
    sum_ += value;
    min_ = value < min_ ? value : min_;
    max_ = value > max_ ? value : max_;
    if (count_ == 1) {
      first_ = value;
      first_ns_ = time_ns;
    }
    last_ = value;
    last_ns_ = time_ns;
  }
  // A summary instead of its points. False: it is not within one interval, or the function needs the points.
  bool add(const store::Summary &summary);
  // Rolled points, all of them in the interval of that time. Not for functions that need the points.
  void add_rolled(int64_t time_ns, const store::Summary &summary);
  bool needs_points() const { return stores_values_; }
  // The points so far; nothing may be added after it.
  std::vector<Point> take();
  size_t size() const { return points_.size() + values_.size(); }

 private:
  void begin(int64_t time_ns);
  void add_to_interval(const store::Summary &summary);
  void finish();
  double value() const;

  const Intervals &intervals_;
  const Aggregator &function_;
  const bool stores_values_ = function_.needs_values();
  std::vector<Point> points_;

  // The interval that is being filled.
  int64_t name_ns_ = 0, interval_first_ = 0, interval_last_ = 0;
  int64_t count_ = 0;
  int64_t first_ns_ = 0, last_ns_ = 0;
  double sum_ = 0, min_ = 0, max_ = 0, first_ = 0, last_ = 0;
  mutable std::vector<double> values_;
};

// Puts a point where the series has none: of every interval in the range.
std::vector<Point> filled(const std::vector<Point> &points, const Intervals &intervals, Fill fill);

}  // namespace atalaya::query
