// SPDX-License-Identifier: Apache-2.0
#include "plugins/query/merge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace atalaya::query {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// A series on its way through the times.
struct Cursor {
  const std::vector<Point> *points;
  size_t next = 0;  // its first point at or after the time

  int64_t time() const { return next < points->size() ? (*points)[next].time_ns : kNever; }
  bool ended() const { return next >= points->size(); }
};

double between(const Point &before, const Point &after, int64_t time_ns) {
  const double part = static_cast<double>(time_ns - before.time_ns) / static_cast<double>(after.time_ns - before.time_ns);
  return before.value + (after.value - before.value) * part;
}

// The series' value at the time; NaN when it has none. Moves past it.
double value_at(Cursor &cursor, int64_t time_ns, Aggregator::Missing missing) {
  const auto &points = *cursor.points;
  if (points[cursor.next].time_ns == time_ns) return points[cursor.next++].value;
  if (missing == Aggregator::Missing::nothing || cursor.next == 0) return std::numeric_limits<double>::quiet_NaN();
  return between(points[cursor.next - 1], points[cursor.next], time_ns);
}

class Merge {
 public:
  Merge(std::span<const std::vector<Point>> series, const Aggregator &aggregator) : aggregator_(aggregator) {
    for (const auto &points : series)
      if (!points.empty()) waiting_.push_back({&points});
    // Those that begin last come first, so that the next one is at the back.
    std::stable_sort(waiting_.begin(), waiting_.end(), [](const Cursor &a, const Cursor &b) { return a.time() > b.time(); });
  }

  std::vector<Point> run() {
    std::vector<Point> result;
    for (int64_t time = next_time(); time != kNever; time = next_time()) result.push_back(at(time));
    return result;
  }

 private:
  int64_t next_time() const {
    int64_t next = waiting_.empty() ? kNever : waiting_.back().time();
    for (const Cursor &cursor : active_) next = std::min(next, cursor.time());
    return next;
  }

  Point at(int64_t time_ns) {
    while (!waiting_.empty() && waiting_.back().time() == time_ns) {
      active_.push_back(waiting_.back());
      waiting_.pop_back();
    }
    values_.clear();
    for (Cursor &cursor : active_)
      if (const double value = value_at(cursor, time_ns, aggregator_.missing); !std::isnan(value)) values_.push_back(value);
    std::erase_if(active_, [](const Cursor &cursor) { return cursor.ended(); });
    return {time_ns, values_.empty() ? std::numeric_limits<double>::quiet_NaN() : aggregator_.of(values_)};
  }

  const Aggregator &aggregator_;
  std::vector<Cursor> waiting_, active_;
  std::vector<double> values_;
};

}  // namespace

std::vector<Point> merged(std::span<const std::vector<Point>> series, const Aggregator &aggregator) {
  return Merge(series, aggregator).run();
}

}  // namespace atalaya::query
