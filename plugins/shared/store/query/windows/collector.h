// SPDX-License-Identifier: Apache-2.0
// Collects the points of a query's series from the store, one list per series: computes rates, then intervals.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "plugins/shared/store/query/arithmetic/rate.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"
#include "plugins/shared/store/query/windows/downsample.h"
#include "plugins/shared/store/query/windows/integral.h"
#include "plugins/shared/store/query/windows/over_time.h"

namespace atalaya::query {

// Whether the values of the query, for some kinds of metrics, are values of windows. It then reads the windows that are partly
// in the range.
bool needs_windows(const Query &query);

// Whether points are merged without intervals: then a window has its value at each of its times, also a window that ends after
// the range.
bool merges_windows(const Query &query);

// Whether a function of the query needs all points of an interval.
bool needs_points(const Query &query);

class Collector : public store::PointVisitor {
 public:
  // `alone`: series that are the only one of an answer, which then has their exact values. `collected`: collected time of each
  // series.
  Collector(const Query &query, const std::vector<store::Series> &series,
            const std::vector<const store::CollectedTime *> &collected, std::vector<bool> alone, Budget &budget);

  std::optional<store::Steps> steps(size_t series) const override;
  bool take(size_t series, const store::Summary &summary) override;
  void points(size_t series, const store::Points &points) override;
  void rolled(size_t series, const store::Summary &summary, const store::Points &plain) override;

  // Call it after the scan. Throws if the answer needs points that were rolled up.
  void check_points() const;
  // If points are merged as they are, the last point of a series may be after the range.
  std::vector<Point> take_points(size_t series);
  // The exact counts of a series whose stored points are the answer.
  std::vector<Count> take_counts(size_t series) { return std::move(states_[series].counts); }
  // Sets the integral and the window of the answer. Call it after take_points.
  void add_extent(std::span<const size_t> series, Answer &answer) const;
  // Returns the query's aggregator. In a sum of integrals a missing value has no substitute, because there is nothing to
  // interpolate.
  Aggregator aggregator_of(std::span<const size_t> series) const;

 private:
  // The state of one series: integrals or a function of its windows, a function of its points, or its unchanged points. If it
  // has windows and a function of points, the function is the average of instants, for intervals without windows.
  struct SeriesState {
    std::optional<Integral> integral;
    std::optional<OverTime> over_time;
    std::optional<Downsampler> function;
    std::vector<Point> points;
    std::vector<Count> counts;
    ValueWindows value_windows;
    double total = 0;          // integral of the unchanged points, in value x ns; for amounts the sum
    bool amounts = false;      // each value is the amount of its complete window
    bool holds = false;        // each value is valid at each time of its window
    bool is_step = false;      // the last rolled point has several samples
    bool by_function = false;  // the function computed some of its points
    size_t instants = 0;       // number of instants in a series that also has an integral
    bool has_windows() const { return integral || over_time; }
  };

  bool is_integral(store::Kind kind) const;
  bool is_over_time(store::Kind kind) const;
  bool is_outside(int64_t time_ns) const { return time_ns <= query_.range.from_ns || time_ns > query_.range.to_ns; }
  static size_t size_of(const SeriesState &kept);
  void add(size_t series, int64_t time_ns, int64_t duration_ns, double value, const std::optional<int64_t> &count);
  void add_next(size_t series, const Point &point);
  void add_value(size_t series, const ValueWindow &held, const std::optional<int64_t> &count);
  void add_raw(size_t series, const ValueWindow &held, const std::optional<int64_t> &count);
  void add_rolled(size_t series, const store::Summary &summary, const store::Points &plain);
  bool has_starts_only(size_t series) const;
  void add_total(SeriesState &kept, const ValueWindow &held) const;

  const Query &query_;
  Budget &budget_;
  const std::vector<bool> alone_;
  const Intervals intervals_;
  const Aggregator function_;
  const std::vector<const store::CollectedTime *> &collected_;
  std::vector<RateOf> rates_;
  std::vector<SeriesState> states_;
  int64_t rolled_until_ns_ = std::numeric_limits<int64_t>::min();  // a function needs points up to this time that are missing
};

}  // namespace atalaya::query
