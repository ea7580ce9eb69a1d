// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/windows/integral.h"

#include <algorithm>
#include <utility>

#include "core/base/sample/span_end.h"

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
    const Range range = intervals_.time_interval();
    if (time_ns > range.from_ns && time_ns <= range.to_ns) put(intervals_.start_of(time_ns - 1), value, 0);
    return;
  }
  value_windows_.add(time_ns, duration_ns, value, [&](const ValueWindow &held) {
    const bool is_window = duration_ns > 0;
    if (is_window || collected_->counts(core::start_of(held.time_ns, held.duration_ns), held.time_ns)) add_held(held);
  });
}

void Integral::add(const store::Points &points) {
  for (size_t i = 0; i < points.times_ns.size(); ++i) add(points.times_ns[i], points.durations_ns[i], points.values[i]);
}

void Integral::add_held(const ValueWindow &held) {
  const double whole = ns_between(0, held.duration_ns);
  const int64_t begin_ns = core::start_of(held.time_ns, held.duration_ns);
  add_interval(begin_ns, held.time_ns, amounts_ ? held.value / whole : held.value);
}

bool Integral::add(const store::Summary &summary) {
  if (!summary.integral) return false;
  value_windows_.skip(summary.last_ns, summary.durations_ns / std::max<int64_t>(1, summary.count));
  put(intervals_.start_of(summary.last_ns - 1), amounts_ ? summary.sum : *summary.integral, summary.durations_ns);
  return true;
}

void Integral::add_interval(int64_t begin_ns, int64_t end_ns, double per_ns) {
  const Range range = intervals_.time_interval();
  begin_ns = std::max(begin_ns, range.from_ns);
  end_ns = std::min(end_ns, range.to_ns);
  while (begin_ns < end_ns) {
    // Most windows are in the interval of the one before: that saves divisions.
    if (begin_ns < interval_ns_ || begin_ns >= interval_end_ns_) {
      interval_ns_ = intervals_.start_of(begin_ns);
      interval_end_ns_ = intervals_.interval_end(interval_ns_);
    }
    const int64_t until_ns = std::min(end_ns, interval_end_ns_);
    put(interval_ns_, per_ns * ns_between(begin_ns, until_ns), until_ns - begin_ns);
    budget_.work(1);
    begin_ns = until_ns;
  }
}

void Integral::put(int64_t begin_ns, double amount, int64_t covered_ns) {
  total_ += amount;
  auto place = parts_.end();
  if (!parts_.empty() && parts_.back().begin_ns >= begin_ns)
    place = std::lower_bound(parts_.begin(), parts_.end(), begin_ns,
                             [](const Part &part, int64_t time_ns) { return part.begin_ns < time_ns; });
  if (place == parts_.end() || place->begin_ns != begin_ns) {
    budget_.reserve(1);
    parts_.insert(place, {begin_ns, covered_ns, amount});
    return;
  }
  place->amount += amount;
  place->covered_ns += covered_ns;
}

// It holds for its interval, unless it is the first reading of a start.
void Integral::add_alone(const ValueWindow &instant) {
  if (collected_->has_windows()) return;
  const Range range = intervals_.time_interval();
  const int64_t begin_ns = intervals_.start_of(instant.time_ns - 1);
  if (instant.time_ns <= range.from_ns || instant.time_ns > range.to_ns) return;
  add_interval(begin_ns, intervals_.interval_end(begin_ns), instant.value);
}

// The collected time of the part of the interval that is in the range. Where none is known, that of the windows of the series:
// their sum is less exact, because windows of one series may overlap by some milliseconds.
double Integral::collected_in(const Part &part) const {
  const Range range = intervals_.time_interval();
  const int64_t begin_ns = std::max(part.begin_ns, range.from_ns);
  const int64_t end_ns = std::min(intervals_.interval_end(part.begin_ns), range.to_ns);
  const int64_t known_ns = collected_->length_in(begin_ns, end_ns);
  return known_ns > 0 ? static_cast<double>(known_ns)
                      : std::min(ns_between(begin_ns, end_ns), static_cast<double>(part.covered_ns));
}

std::vector<Point> Integral::take() {
  if (value_windows_.pending_instant()) add_alone(*value_windows_.pending_instant());
  budget_.release(parts_.size());
  std::vector<Point> points;
  points.reserve(parts_.size());
  for (const Part &part : parts_)
    points.push_back({intervals_.interval_name(part.begin_ns), amounts_ ? part.amount : part.amount / collected_in(part)});
  parts_.clear();
  return points;
}

}  // namespace atalaya::query
