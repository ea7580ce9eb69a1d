// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/merge.h"

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
    for (size_t i = 0; i < series.size(); ++i) {
      if (series[i].empty()) continue;
      cursors_.push({series[i].front().time_ns, i, 0});
      if (series[i].front().duration_ns > 0) between_.push_back({nullptr, &series[i].front(), i});
    }
  }

  std::vector<Point> run(int64_t until_ns) {
    std::vector<Point> result;
    while (!cursors_.empty() && cursors_.top().time_ns <= until_ns) {
      budget_.reserve(1);
      result.push_back(at(cursors_.top().time_ns));
      budget_.work(1 + values_.size() + between_.size());
    }
    return result;
  }

 private:
  Point at(int64_t time_ns) {
    values_.clear();
    members_.clear();
    while (!cursors_.empty() && cursors_.top().time_ns == time_ns) take(cursors_.top());
    if (!between_.empty()) add_missing(time_ns);
    if (in_order_) set_in_order();
    return {time_ns, values_.empty() ? std::numeric_limits<double>::quiet_NaN() : aggregator_.apply(values_)};
  }

  void take(Cursor cursor) {
    cursors_.pop();
    const std::vector<Point> &points = series_[cursor.series];
    add(cursor.series, points[cursor.next].value);
    if (++cursor.next == points.size()) return;
    cursor.time_ns = points[cursor.next].time_ns;
    cursors_.push(cursor);
    if (aggregator_.missing != Aggregator::Missing::nothing || points[cursor.next].duration_ns > 0)
      between_.push_back({&points[cursor.next - 1], &points[cursor.next], cursor.series});
  }

  // Of the series that have a window around the time, or a point before and one after.
  void add_missing(int64_t time_ns) {
    std::erase_if(between_, [&](const Gap &gap) { return gap.after->time_ns <= time_ns; });
    for (const Gap &gap : between_) {
      if (gap.before != nullptr && gap.before->time_ns >= time_ns) continue;
      if (gap.after->covers(time_ns))
        add(gap.series, gap.after->value);
      else if (gap.before != nullptr && aggregator_.missing != Aggregator::Missing::nothing)
        add(gap.series, in_order_ ? 0 : between(*gap.before, *gap.after, time_ns));
    }
  }

  void add(size_t series, double value) {
    if (std::isnan(value)) return;
    if (in_order_) members_.emplace_back(series, value);
    values_.push_back(value);
  }

  // The first value is that of the first series, whether it was there or 0 is put for it.
  void set_in_order() {
    std::sort(members_.begin(), members_.end());
    std::transform(members_.begin(), members_.end(), values_.begin(), [](const auto &member) { return member.second; });
  }

  // Where a series is that has begun and not ended.
  struct Gap {
    const Point *before, *after;  // before: null for the first one
    size_t series;
  };

  std::span<const std::vector<Point>> series_;
  const Aggregator &aggregator_;
  const bool in_order_ = aggregator_.missing == Aggregator::Missing::zero;
  Budget &budget_;
  std::priority_queue<Cursor, std::vector<Cursor>, std::greater<>> cursors_;
  std::vector<Gap> between_;
  std::vector<std::pair<size_t, double>> members_;
  std::vector<double> values_;
};

}  // namespace

std::vector<Point> merged(std::span<const std::vector<Point>> series, const Aggregator &aggregator, Budget &budget,
                          int64_t until_ns) {
  return Merge(series, aggregator, budget).run(until_ns);
}

}  // namespace atalaya::query
