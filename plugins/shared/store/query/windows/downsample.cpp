// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/windows/downsample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "plugins/shared/io/time/time_text.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::query {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

std::optional<Fill> fill_from_name(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Fill>, 4> kFills = {
      {{"none", Fill::none}, {"nan", Fill::nan}, {"null", Fill::null}, {"zero", Fill::zero}}};
  for (const auto &[known, fill] : kFills)
    if (name == known) return fill;
  return std::nullopt;
}

core::Result<int64_t> interval_of(const std::string &text) {
  if (text == "0all" || text == "all") return 0;
  auto length = io::parse_length(text);
  if (length && length.value() <= 0) return core::Error{"an interval is longer than 0s; the whole range is 0all"};
  // Names of intervals lie up to two of them beyond their range: they must stay numbers.
  constexpr int64_t kLongest = int64_t{3660} * 86'400 * 1'000'000'000;
  if (length && length.value() > kLongest) return core::Error{"an interval is at most 3660d; the whole range is 0all"};
  return length;
}

// The largest multiple of the length that is not above the time, below 0 too.
int64_t aligned_down(int64_t time_ns, int64_t length_ns) {
  const int64_t rest = time_ns % length_ns;
  return rest < 0 ? time_ns - rest - length_ns : time_ns - rest;
}

}  // namespace

core::Result<Downsample> parse_downsample(std::string_view text) {
  const auto parts = parts_of(text, '-');
  const std::string prefix = core::in_quotes(text) + ": ";
  if (parts.size() > 3) return core::Error{prefix + "an interval, a function and a fill policy, such as 1m-avg-none"};
  const auto interval = interval_of(parts[0]);
  if (!interval) return core::Error{prefix + interval.error()};
  Downsample downsample;
  downsample.interval_ns = interval.value();
  if (parts.size() > 1) {
    downsample.function = Aggregator::find(parts[1]);
    if (!downsample.function)
      return core::Error{prefix + core::in_quotes(parts[1]) + " is no function" +
                         core::did_you_mean(parts[1], Aggregator::names())};
  }
  if (parts.size() > 2) {
    const auto fill = fill_from_name(parts[2]);
    if (!fill) return core::Error{prefix + core::in_quotes(parts[2]) + " is no fill policy; write none, nan, null or zero"};
    downsample.fill = *fill;
  }
  return downsample;
}

Intervals::Intervals(const Downsample &downsample, const Range &range, Edge edge)
    : length_ns_(downsample.interval_ns), offset_ns_(downsample.offset_ns), range_(range), edge_(edge) {}

int64_t Intervals::name_of(int64_t time_ns) const {
  if (length_ns_ == 0) return edge_ == Edge::end ? range_.to_ns : range_.from_ns + 1;
  if (edge_ == Edge::start) return start_of(time_ns);
  return start_of(time_ns - 1) + length_ns_;
}

int64_t Intervals::start_of(int64_t time_ns) const {
  return length_ns_ == 0 ? time_interval().from_ns : aligned_down(time_ns - offset_ns_, length_ns_) + offset_ns_;
}

int64_t Intervals::interval_name(int64_t begin_ns) const {
  if (length_ns_ == 0) return name_of(begin_ns);
  return edge_ == Edge::start ? begin_ns : begin_ns + length_ns_;
}

int64_t Intervals::interval_end(int64_t begin_ns) const {
  return length_ns_ == 0 ? range_.to_ns : begin_ns + length_ns_;
}

Range Intervals::range_of(int64_t name_ns) const {
  const Range all = time_interval();
  if (length_ns_ == 0) return all;
  const int64_t begin_ns = edge_ == Edge::start ? name_ns : name_ns - length_ns_;
  return {std::max(begin_ns, all.from_ns), std::min(begin_ns + length_ns_, all.to_ns)};
}

// A range that includes its start begins a nanosecond before it.
Range Intervals::time_interval() const {
  return {edge_ == Edge::start ? range_.from_ns + 1 : range_.from_ns, range_.to_ns};
}

int64_t Intervals::first() const {
  return name_of(range_.from_ns + 1);
}

size_t Intervals::count() const {
  if (length_ns_ == 0) return 1;
  return static_cast<size_t>((name_of(range_.to_ns) - first()) / length_ns_) + 1;
}

void Downsampler::begin(int64_t time_ns) {
  finish();
  name_ns_ = intervals_.name_of(time_ns);
  const int64_t length = intervals_.length_ns();
  const bool by_end = length > 0 && intervals_.name_of(name_ns_ + 1) != name_ns_;
  interval_first_ = length == 0 ? kMin : by_end ? name_ns_ - length + 1 : name_ns_;
  interval_last_ = length == 0 ? kMax : interval_first_ + length - 1;
  count_ = 0;
  sum_ = 0;
  min_ = std::numeric_limits<double>::infinity();
  max_ = -std::numeric_limits<double>::infinity();
}

void Downsampler::finish() {
  if (count_ == 0) return;
  points_.push_back({name_ns_, value()});
  values_.clear();
}

double Downsampler::value() const {
  switch (function_.function) {
    case Aggregator::Function::sum:
      return sum_;
    case Aggregator::Function::avg:
      return sum_ / static_cast<double>(count_);
    case Aggregator::Function::min:
      return min_;
    case Aggregator::Function::max:
      return max_;
    case Aggregator::Function::count:
      return static_cast<double>(count_);
    case Aggregator::Function::first:
      return first_;
    case Aggregator::Function::last:
      return last_;
    case Aggregator::Function::dev:
    case Aggregator::Function::percentile:
      break;
  }
  return function_.apply(values_);
}

bool Downsampler::add(const store::Summary &summary) {
  if (stores_values_ || summary.count <= 0) return false;
  if (intervals_.name_of(summary.first_ns) != intervals_.name_of(summary.last_ns)) return false;
  if (count_ == 0 || summary.first_ns > interval_last_) begin(summary.first_ns);
  add_to_interval(summary);
  return true;
}

// Points that came late for the time of rolled ones may have been added before: the first and the last are so by their times.
void Downsampler::add_rolled(int64_t time_ns, const store::Summary &summary) {
  if (count_ == 0 || time_ns > interval_last_) begin(time_ns);
  add_to_interval(summary);
}

void Downsampler::add_to_interval(const store::Summary &summary) {
  if (count_ == 0 || summary.first_ns < first_ns_) {
    first_ = summary.first;
    first_ns_ = summary.first_ns;
  }
  if (count_ == 0 || summary.last_ns >= last_ns_) {
    last_ = summary.last;
    last_ns_ = summary.last_ns;
  }
  count_ += summary.count;
  sum_ += summary.sum;
  min_ = std::min(min_, summary.min);
  max_ = std::max(max_, summary.max);
}

std::vector<Point> Downsampler::take() {
  finish();
  count_ = 0;
  return std::move(points_);
}

std::vector<Point> filled(const std::vector<Point> &points, const Intervals &intervals, Fill fill) {
  if (fill == Fill::none) return points;
  std::vector<Point> all;
  all.reserve(intervals.count());
  size_t next = 0;
  int64_t name = intervals.first();
  for (size_t i = 0; i < intervals.count(); ++i, name += intervals.length_ns()) {
    const bool there = next < points.size() && points[next].time_ns == name;
    all.push_back(there ? points[next++] : Point{name, fill == Fill::zero ? 0 : kUnknown});
  }
  return all;
}

}  // namespace atalaya::query
