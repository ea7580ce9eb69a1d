// SPDX-License-Identifier: Apache-2.0
#include "plugins/query/merge.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

namespace atalaya::query {
namespace {

double between(const Point &before, const Point &after, int64_t time_ns) {
  const double part = static_cast<double>(time_ns - before.time_ns) / static_cast<double>(after.time_ns - before.time_ns);
  return before.value + (after.value - before.value) * part;
}

// A series on its way through the times: its next point, and which series it is. The earliest comes first, then that of the first
// series: values are handed to the aggregator in the order of the series.
struct Cursor {
  int64_t time_ns = 0;
  size_t series = 0, next = 0;

  bool operator>(const Cursor &other) const { return std::tie(time_ns, series) > std::tie(other.time_ns, other.series); }
};

class Merge {
 public:
  Merge(std::span<const std::vector<Point>> series, const Aggregator &aggregator, Budget &budget)
      : series_(series), aggregator_(aggregator), budget_(budget) {
    for (size_t i = 0; i < series.size(); ++i)
      if (!series[i].empty()) cursors_.push({series[i].front().time_ns, i, 0});
  }

  std::vector<Point> run() {
    std::vector<Point> result;
    while (!cursors_.empty()) {
      budget_.hold(1);
      result.push_back(at(cursors_.top().time_ns));
      budget_.work(1 + values_.size() + between_.size());
    }
    return result;
  }

 private:
  Point at(int64_t time_ns) {
    values_.clear();
    while (!cursors_.empty() && cursors_.top().time_ns == time_ns) take(cursors_.top());
    if (aggregator_.missing == Aggregator::Missing::interpolate) interpolate(time_ns);
    return {time_ns, values_.empty() ? std::numeric_limits<double>::quiet_NaN() : aggregator_.of(values_)};
  }

  void take(Cursor cursor) {
    cursors_.pop();
    const std::vector<Point> &points = series_[cursor.series];
    add(points[cursor.next].value);
    if (++cursor.next == points.size()) return;
    cursor.time_ns = points[cursor.next].time_ns;
    cursors_.push(cursor);
    if (aggregator_.missing == Aggregator::Missing::interpolate)
      between_.push_back({&points[cursor.next - 1], &points[cursor.next]});
  }

  // Of the series that have a point before and one after.
  void interpolate(int64_t time_ns) {
    std::erase_if(between_, [&](const auto &two) { return two.second->time_ns <= time_ns; });
    for (const auto &[before, after] : between_)
      if (before->time_ns < time_ns) add(between(*before, *after, time_ns));
  }

  void add(double value) {
    if (!std::isnan(value)) values_.push_back(value);
  }

  std::span<const std::vector<Point>> series_;
  const Aggregator &aggregator_;
  Budget &budget_;
  std::priority_queue<Cursor, std::vector<Cursor>, std::greater<>> cursors_;
  std::vector<std::pair<const Point *, const Point *>> between_;  // where the series are that have begun and not ended
  std::vector<double> values_;
};

}  // namespace

std::vector<Point> merged(std::span<const std::vector<Point>> series, const Aggregator &aggregator, Budget &budget) {
  return Merge(series, aggregator, budget).run();
}

}  // namespace atalaya::query
