// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/windows/over_time.h"

#include <algorithm>

#include "core/base/sample/span_end.h"

namespace atalaya::query {
namespace {

using Function = Aggregator::Function;

// Of the first window in the interval, as if all of the summary had one length. A window that begins before the interval is none of
// the summary's.
int64_t begin_of_first(int64_t begin_ns, const store::Summary &summary, int64_t length_ns) {
  const int64_t first_ns = summary.first_ns - length_ns / std::max<int64_t>(summary.count, 1);
  return std::min(std::max(first_ns, begin_ns) + 1, summary.first_ns);
}

}  // namespace

bool OverTime::supports(const Aggregator &function) {
  switch (function.function) {
    case Function::avg:
    case Function::min:
    case Function::max:
    case Function::first:
    case Function::last:
      return true;
    default:
      return false;
  }
}

void OverTime::add(int64_t time_ns, int64_t duration_ns, double value) {
  if (duration_ns <= 0) return add_instant(time_ns, value);
  const Range range = intervals_.time_interval();
  int64_t begin_ns = std::max(core::start_of(time_ns, duration_ns), range.from_ns);
  const int64_t end_ns = std::min(time_ns, range.to_ns);
  while (begin_ns < end_ns) {
    const int64_t interval_ns = intervals_.start_of(begin_ns);
    const int64_t until_ns = std::min(end_ns, intervals_.interval_end(interval_ns));
    put({interval_ns, value, time_of(begin_ns, until_ns)});
    budget_.work(1);
    begin_ns = until_ns;
  }
}

void OverTime::add_instant(int64_t time_ns, double value) {
  if (function_ == Function::avg || !intervals_.has(time_ns)) return;
  put({intervals_.instant_start(time_ns), value, time_ns});
  budget_.work(1);
}

// A window begins just after its begin.
int64_t OverTime::time_of(int64_t begin_ns, int64_t end_ns) const {
  if (function_ == Function::avg) return end_ns - begin_ns;
  return function_ == Function::first ? begin_ns + 1 : end_ns;
}

bool OverTime::add(const store::Summary &summary) {
  if (!summary.integral) return false;
  const int64_t length_ns = std::max<int64_t>(summary.durations_ns, 1);
  put(intervals_.start_of(summary.last_ns - 1), summary, *summary.integral / static_cast<double>(length_ns), length_ns);
  return true;
}

void OverTime::add_rolled(const store::Summary &summary, const store::Points &plain) {
  const Range range = intervals_.time_interval();
  const int64_t time_ns = plain.times_ns.front();
  if (time_ns <= range.from_ns || time_ns > range.to_ns) return;
  put(intervals_.start_of(time_ns - 1), summary, plain.values.front(), plain.durations_ns.front());
}

void OverTime::put(int64_t begin_ns, const store::Summary &summary, double average, int64_t length_ns) {
  switch (function_) {
    case Function::min:
      return put({begin_ns, summary.min, 0});
    case Function::max:
      return put({begin_ns, summary.max, 0});
    case Function::first:
      return put({begin_ns, summary.first, begin_of_first(begin_ns, summary, length_ns)});
    case Function::last:
      return put({begin_ns, summary.last, summary.last_ns});
    default:
      return put({begin_ns, summary.min == summary.max ? summary.min : average, length_ns});
  }
}

void OverTime::put(const Part &part) {
  auto place = parts_.end();
  if (!parts_.empty() && parts_.back().begin_ns >= part.begin_ns)
    place = std::lower_bound(parts_.begin(), parts_.end(), part.begin_ns,
                             [](const Part &one, int64_t begin_ns) { return one.begin_ns < begin_ns; });
  if (place == parts_.end() || place->begin_ns != part.begin_ns) {
    budget_.reserve(1);
    parts_.insert(place, part);
    return;
  }
  switch (function_) {
    case Function::min:
      place->value = std::min(place->value, part.value);
      break;
    case Function::max:
      place->value = std::max(place->value, part.value);
      break;
    case Function::first:
      if (part.ns < place->ns) *place = part;
      break;
    case Function::last:
      if (part.ns >= place->ns) *place = part;
      break;
    default:  // the average of equal values has no rounding error
      place->ns += part.ns;
      place->value += (part.value - place->value) * (static_cast<double>(part.ns) / static_cast<double>(place->ns));
  }
}

std::vector<Point> OverTime::take() {
  budget_.release(parts_.size());
  std::vector<Point> points;
  points.reserve(parts_.size());
  for (const Part &part : parts_) points.push_back({intervals_.interval_name(part.begin_ns), part.value});
  parts_.clear();
  return points;
}

}  // namespace atalaya::query
