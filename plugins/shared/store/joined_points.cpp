// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/joined_points.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace atalaya::store {
namespace {

struct Point {
  size_t series;
  int64_t time_ns, duration_ns;
  double value;
  int64_t count;
  bool is_count;
  std::optional<Summary> rolled;
};

bool is_same(const Point &a, const Point &b) {
  return a.series == b.series && a.time_ns == b.time_ns;
}

class PointsFull {};

// Keeps the points of one store after the other.
class Gathered final : public PointVisitor {
 public:
  explicit Gathered(size_t max) : max_(max) {}

  void set_places(const std::vector<size_t> &places) { places_ = &places; }
  void points(size_t series, const Points &points) override {
    for (size_t i = 0; i < points.times_ns.size(); ++i) add(series, points, i, std::nullopt);
  }
  void rolled(size_t series, const Summary &summary, const Points &plain) override { add(series, plain, 0, summary); }

  std::vector<Point> &all() { return all_; }
  // The middle of the times so far.
  int64_t middle() const { return first_ns_ + (last_ns_ - first_ns_) / 2; }
  bool has_one_time() const { return first_ns_ >= last_ns_; }

 private:
  void add(size_t series, const Points &points, size_t i, const std::optional<Summary> &rolled) {
    const int64_t time = points.times_ns[i];
    first_ns_ = std::min(first_ns_, time);
    last_ns_ = std::max(last_ns_, time);
    const bool is_count = !points.counts.empty();
    all_.push_back(
        {(*places_)[series], time, points.durations_ns[i], points.values[i], is_count ? points.counts[i] : 0, is_count, rolled});
    if (all_.size() > max_ && !has_one_time()) throw PointsFull();
  }

  size_t max_;
  const std::vector<size_t> *places_ = nullptr;
  std::vector<Point> all_;
  int64_t first_ns_ = std::numeric_limits<int64_t>::max(), last_ns_ = std::numeric_limits<int64_t>::min();
};

// Points that go into one call.
class Run {
 public:
  explicit Run(PointVisitor &visitor) : visitor_(visitor) {}

  void add(const Point &point) {
    if (!times_.empty() && (point.rolled || point.series != series_ || point.is_count == counts_.empty())) deliver();
    series_ = point.series;
    times_.push_back(point.time_ns);
    durations_.push_back(point.duration_ns);
    values_.push_back(point.value);
    if (point.is_count) counts_.push_back(point.count);
    if (!point.rolled) return;
    visitor_.rolled(series_, *point.rolled, {times_, durations_, values_, counts_});
    clear();
  }
  void deliver() {
    if (!times_.empty()) visitor_.points(series_, {times_, durations_, values_, counts_});
    clear();
  }

 private:
  void clear() {
    times_.clear();
    durations_.clear();
    values_.clear();
    counts_.clear();
  }

  PointVisitor &visitor_;
  size_t series_ = 0;
  std::vector<int64_t> times_, durations_, counts_;
  std::vector<double> values_;
};

void deliver(std::vector<Point> &points, PointVisitor &visitor) {
  std::stable_sort(points.begin(), points.end(),
                   [](const Point &a, const Point &b) { return std::tie(a.series, a.time_ns) < std::tie(b.series, b.time_ns); });
  Run run(visitor);
  for (size_t i = 0; i < points.size(); ++i)
    if (i + 1 == points.size() || !is_same(points[i], points[i + 1])) run.add(points[i]);
  run.deliver();
}

}  // namespace

void merge_points(const std::vector<std::unique_ptr<Store>> &stores, const std::vector<StoreParts> &parts, const Range &range,
                  size_t max_buffered, PointVisitor &visitor) {
  if (std::all_of(parts.begin(), parts.end(), [](const StoreParts &part) { return part.series.empty(); })) return;
  std::vector<Range> left{range};  // the next one last
  while (!left.empty()) {
    const Range slice = left.back();
    left.pop_back();
    Gathered gathered(max_buffered);
    try {
      for (size_t i = 0; i < stores.size(); ++i) {
        gathered.set_places(parts[i].places);
        if (!parts[i].series.empty()) stores[i]->scan(parts[i].series, slice, gathered);
      }
    } catch (const PointsFull &) {
      left.push_back({gathered.middle(), slice.to_ns});
      left.push_back({slice.from_ns, gathered.middle()});
      continue;
    }
    deliver(gathered.all(), visitor);
  }
}

}  // namespace atalaya::store
