// SPDX-License-Identifier: Apache-2.0
// Reduces the points of one series to one point per interval while they arrive.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

// Parses "5s", "5s-avg", "1m-p95-zero", "0all-sum" (the complete range): interval, function, fill policy.
core::Result<Downsample> parse_downsample(std::string_view text);

// The intervals of a query: aligned to the epoch, so that every series and every query has the same.
class Intervals {
 public:
  Intervals(const Downsample &downsample, const Range &range, Edge edge);

  // The name (a time) of the interval that contains the time.
  int64_t name_of(int64_t time_ns) const;
  int64_t length_ns() const { return length_ns_; }  // 0: the whole range
  // The intervals for summaries: for functions of points, and for integrals.
  store::Steps steps() const { return {length_ns_, edge_ == Edge::end ? offset_ns_ + 1 : offset_ns_, range_}; }
  store::Steps integral_steps() const { return {length_ns_, offset_ns_ + 1, time_interval(), true}; }
  // The start, the name and the end of the interval that contains the time directly after this instant.
  int64_t start_of(int64_t time_ns) const;
  // The start of the interval that contains an instant of the range.
  int64_t instant_start(int64_t time_ns) const { return start_of(edge_ == Edge::end ? time_ns - 1 : time_ns); }
  bool has(int64_t time_ns) const { return time_ns > range_.from_ns && time_ns <= range_.to_ns; }
  int64_t interval_name(int64_t begin_ns) const;
  int64_t interval_end(int64_t begin_ns) const;
  // The part of the interval with this name that is in the range.
  Range range_of(int64_t name_ns) const;
  // The range as an interval (from, to].
  Range time_interval() const;
  Edge edge() const { return edge_; }
  // Number of intervals in the range, for fill policies. `range` is bounded.
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
  // Adds a summary instead of its points. False: it spans several intervals, or the function needs the points.
  bool add(const store::Summary &summary);
  // Adds rolled points, which are all in the interval of that time. Only for functions that do not need the points.
  void add_rolled(int64_t time_ns, const store::Summary &summary);
  bool needs_points() const { return stores_values_; }
  // Returns the points. Nothing may be added afterwards.
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

// Adds a point to each interval of the range in which the series has none.
std::vector<Point> filled(const std::vector<Point> &points, const Intervals &intervals, Fill fill);

}  // namespace atalaya::query
