// SPDX-License-Identifier: Apache-2.0
// The points of the series of one query, from the store to one list per series: rates, then intervals.
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

// Whether the values of the query are those of windows, of some kinds of metrics: it needs the windows that reach into the range.
bool needs_windows(const Query &query);

// Whether points are merged as they are: a window has its value at each of its times, also one that ends after the range.
bool merges_windows(const Query &query);

// Whether a function of the query needs all points of an interval.
bool needs_points(const Query &query);

class Collector : public store::PointVisitor {
 public:
  // `alone`: the series that are the only one of an answer, which has their exact values. `collected`: of each series.
  Collector(const Query &query, const std::vector<store::Series> &series,
            const std::vector<const store::CollectedTime *> &collected, std::vector<bool> alone, Budget &budget);

  std::optional<store::Steps> steps(size_t series) const override;
  bool take(size_t series, const store::Summary &summary) override;
  void points(size_t series, const store::Points &points) override;
  void rolled(size_t series, const store::Summary &summary, const store::Points &plain) override;

  // After the scan. Throws if the answer needs points that were rolled up.
  void check_points() const;
  // If points are merged as they are, the last point of a series may be after the range.
  std::vector<Point> take_points(size_t series);
  // Of a series whose stored points are the answer.
  std::vector<Count> take_counts(size_t series) { return std::move(kept_[series].counts); }
  // The integral and the window of the answer, after take_points.
  void add_extent(std::span<const size_t> series, Answer &answer) const;
  // The query's aggregator. In a sum of integrals a series without a sample has no part: there is nothing to interpolate.
  Aggregator aggregator_of(std::span<const size_t> series) const;

 private:
  // Of one series: integrals or a function of its windows, a function of its points, or its points as they are. With windows and a
  // function of points, the latter is an average of instants, for intervals without windows.
  struct Kept {
    std::optional<Integral> integral;
    std::optional<OverTime> over_time;
    std::optional<Downsampler> function;
    std::vector<Point> points;
    std::vector<Count> counts;
    Hold hold;
    double total = 0;          // the integral of points as they are, by ns; of amounts their sum
    bool amounts = false;      // each value is that of its whole window
    bool holds = false;        // each value is that of each time of its window
    bool is_step = false;      // the last rolled point has several samples
    bool by_function = false;  // some of its points are by the function
    size_t instants = 0;       // next to an integral
    bool has_windows() const { return integral || over_time; }
  };

  bool is_integral(store::Kind kind) const;
  bool is_over_time(store::Kind kind) const;
  bool is_outside(int64_t time_ns) const { return time_ns <= query_.range.from_ns || time_ns > query_.range.to_ns; }
  static size_t size_of(const Kept &kept);
  void add(size_t series, int64_t time_ns, int64_t duration_ns, double value, const std::optional<int64_t> &count);
  void add_next(size_t series, const Point &point);
  void add_value(size_t series, const Held &held, const std::optional<int64_t> &count);
  void add_raw(size_t series, const Held &held, const std::optional<int64_t> &count);
  void add_rolled(size_t series, const store::Summary &summary, const store::Points &plain);
  bool has_starts_only(size_t series) const;
  void add_total(Kept &kept, const Held &held) const;

  const Query &query_;
  Budget &budget_;
  const std::vector<bool> alone_;
  const Intervals intervals_;
  const Aggregator function_;
  const std::vector<const store::CollectedTime *> &collected_;
  std::vector<RateOf> rates_;
  std::vector<Kept> kept_;
  int64_t rolled_until_ns_ = std::numeric_limits<int64_t>::min();  // points that a function needs are missing up to then
};

}  // namespace atalaya::query
