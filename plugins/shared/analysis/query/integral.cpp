// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/query/integral.h"

#include <algorithm>
#include <utility>

#include "core/base/span_end.h"

namespace atalaya::query {
namespace {

// Exact, but for ranges without ends.
double ns_between(int64_t begin_ns, int64_t end_ns) {
  int64_t exact = 0;
  if (!__builtin_sub_overflow(end_ns, begin_ns, &exact)) return static_cast<double>(exact);
  return static_cast<double>(end_ns) - static_cast<double>(begin_ns);
}

}  // namespace

void Integral::add(int64_t time_ns, int64_t duration_ns, double value) {
  // An amount without a window was counted somewhere else, and is whole.
  if (amounts_ && duration_ns <= 0) {
    const Range range = intervals_.stretch();
    if (time_ns > range.from_ns && time_ns <= range.to_ns) put(intervals_.begin_of(time_ns - 1), value);
    return;
  }
  hold_.add(time_ns, duration_ns, value, [&](const Held &held) { add_held(held); });
}

void Integral::add(const store::Points &points) {
  for (size_t i = 0; i < points.times_ns.size(); ++i) add(points.times_ns[i], points.durations_ns[i], points.values[i]);
}

void Integral::add_held(const Held &held) {
  const double whole = ns_between(0, held.duration_ns);
  add_stretch(core::begin_of(held.time_ns, held.duration_ns), held.time_ns, amounts_ ? held.value / whole : held.value);
}

bool Integral::add(const store::Summary &summary) {
  if (!summary.integral || hold_.alone()) return false;
  hold_.skip(summary.last_ns, summary.durations_ns / std::max<int64_t>(1, summary.count));
  put(intervals_.begin_of(summary.last_ns - 1), amounts_ ? summary.sum : *summary.integral);
  return true;
}

void Integral::add_stretch(int64_t begin_ns, int64_t end_ns, double per_ns) {
  const Range range = intervals_.stretch();
  begin_ns = std::max(begin_ns, range.from_ns);
  end_ns = std::min(end_ns, range.to_ns);
  while (begin_ns < end_ns) {
    // Most windows are in the interval of the one before: that saves divisions.
    if (begin_ns < interval_ns_ || begin_ns >= interval_end_ns_) {
      interval_ns_ = intervals_.begin_of(begin_ns);
      interval_end_ns_ = intervals_.end_of_stretch(interval_ns_);
    }
    const int64_t until_ns = std::min(end_ns, interval_end_ns_);
    put(interval_ns_, per_ns * ns_between(begin_ns, until_ns));
    budget_.work(1);
    begin_ns = until_ns;
  }
}

void Integral::put(int64_t begin_ns, double amount) {
  total_ += amount;
  if (!points_.empty() && points_.back().time_ns == begin_ns) {
    points_.back().value += amount;
    return;
  }
  const auto place = std::lower_bound(points_.begin(), points_.end(), begin_ns,
                                      [](const Point &point, int64_t time_ns) { return point.time_ns < time_ns; });
  if (place != points_.end() && place->time_ns == begin_ns) {
    place->value += amount;
    return;
  }
  budget_.hold(1);
  points_.insert(place, {begin_ns, amount});
}

void Integral::add_alone(const Held &instant, int64_t step_ns) {
  if (step_ns > 0) return add_held({instant.time_ns, step_ns, instant.value});
  const Range range = intervals_.stretch();
  const int64_t begin_ns = intervals_.begin_of(instant.time_ns - 1);
  if (instant.time_ns <= range.from_ns || instant.time_ns > range.to_ns) return;
  add_stretch(begin_ns, intervals_.end_of_stretch(begin_ns), instant.value);
}

// Of an interval that the range cuts, its part in the range; and not the time after the newest sample, which no window has covered
// yet.
double Integral::length_of(int64_t begin_ns, const Known &known) const {
  const Range range = intervals_.stretch();
  const int64_t end_ns = intervals_.end_of_stretch(begin_ns);
  int64_t to_ns = std::min(end_ns, range.to_ns);
  const bool is_cut = to_ns < end_ns;
  begin_ns = std::max(begin_ns, range.from_ns);
  if (is_cut && known.until_ns < to_ns && known.until_ns > begin_ns && (to_ns - known.until_ns) / 2 <= known.window_ns)
    to_ns = known.until_ns;
  return ns_between(begin_ns, to_ns);
}

std::vector<Point> Integral::take(const Known &known, int64_t step_ns) {
  if (hold_.alone()) add_alone(*hold_.alone(), step_ns);
  budget_.release(points_.size());
  for (Point &point : points_) {
    if (!amounts_) point.value /= length_of(point.time_ns, known);
    point.time_ns = intervals_.name_of_stretch(point.time_ns);
  }
  return std::move(points_);
}

}  // namespace atalaya::query
