// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/rollup/rollup_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace atalaya::store {
namespace {

// Columns of a rolled chunk are numbered metric * kColumns + one of these. All but the first are left out where they say nothing
// that the others do not.
enum RolledColumn : int64_t {
  kMin,
  kCount,      // left out: 1
  kLastBack,   // from the last point to the end of the step, ns; left out: 0
  kFirstBack,  // from the first point to the last one, ns; left out: 0
  kSum,        // left out: the least times the count
  kMax,        // left out: the least
  kFirst,      // left out: the least
  kLast,       // left out: the first
  kAverage,    // left out: the sum by the count
  kColumns = 16,
};
constexpr size_t kColumnsBelow = kAverage;  // that may be left out

constexpr uint8_t kNoDecimals = 255;
constexpr double kSame = 1e-9;  // averages that differ by less, of their size, differ by rounding

Number real_number(double value) {
  Number number;
  number.real = value;
  return number;
}
Number count_number(int64_t value) {
  Number number;
  number.is_count = true;
  number.count = value;
  return number;
}
bool is_less(const Number &a, const Number &b) {
  return a.is_count && b.is_count ? a.count < b.count : a.as_real() < b.as_real();
}
bool is_equal(const Number &a, const Number &b) {
  return a.is_count == b.is_count && (a.is_count ? a.count == b.count : a.real == b.real);
}
Number sum_of(const Number &a, const Number &b) {
  int64_t sum = 0;
  if (a.is_count && b.is_count && !__builtin_add_overflow(a.count, b.count, &sum)) return count_number(sum);
  return real_number(a.as_real() + b.as_real());
}

// The average of two, weighted by duration; by count if there is no duration.
double average_of(const RolledPoint &a, const RolledPoint &b) {
  const bool has_durations = a.duration_ns > 0 || b.duration_ns > 0;
  const auto weight = [&](const RolledPoint &one) { return static_cast<double>(has_durations ? one.duration_ns : one.count); };
  return a.average + (b.average - a.average) * (weight(b) / (weight(a) + weight(b)));
}

void merge(RolledPoint &into, const RolledPoint &point) {
  into.average = average_of(into, point);
  into.duration_ns = plus(into.duration_ns, point.duration_ns);
  into.count = plus(into.count, point.count);
  into.sum = sum_of(into.sum, point.sum);
  if (is_less(point.min, into.min)) into.min = point.min;
  if (is_less(into.max, point.max)) into.max = point.max;
  if (point.first_ns <= into.first_ns) {
    into.first_ns = point.first_ns;
    into.first = point.first;
  }
  if (point.last_ns >= into.last_ns) {
    into.last_ns = point.last_ns;
    into.last = point.last;
  }
}

RolledPoint rolled_from(int64_t time_ns, int64_t duration_ns, const Number &value) {
  return {time_ns, time_ns, time_ns, duration_ns, 1, value, value, value, value, value, value.as_real()};
}

// A sum of short decimals is a short decimal: digits behind its last one are rounding errors.
Number rounded(const Number &sum, uint8_t decimals) {
  if (sum.is_count || decimals == kNoDecimals) return sum;
  constexpr double kExactReal = 9007199254740992.0;  // 2^53
  const double large = std::nearbyint(sum.real * kTens.at(decimals));
  return std::abs(large) < kExactReal ? real_number(large / kTens.at(decimals)) : sum;
}

Number product(const Number &value, int64_t count) {
  int64_t result = 0;
  if (value.is_count && !__builtin_mul_overflow(value.count, count, &result)) return count_number(result);
  return real_number(value.as_real() * static_cast<double>(count));
}

double plain_average(const RolledPoint &point) {
  return point.sum.as_real() / static_cast<double>(point.count);
}

bool is_plain_average(const RolledPoint &point) {
  const double largest = std::max(std::abs(point.min.as_real()), std::abs(point.max.as_real()));
  return std::abs(point.average - plain_average(point)) <= kSame * largest;
}

uint8_t decimals_of(const Part &part) {
  return part.codec == Codec::plain || part.codec == Codec::delta ? part.decimals : kNoDecimals;
}

// A value of each point as a column; none where it says nothing that the reader would not assume.
template <class Value, class Assumed>
void put_column(std::vector<Column> &columns, int64_t number, const std::vector<const RolledPoint *> &points, Value &&value,
                Assumed &&assumed) {
  if (std::all_of(points.begin(), points.end(), [&](const RolledPoint *point) { return is_equal(value(*point), assumed(*point)); }))
    return;
  Column &column = columns.emplace_back();
  column.metric = number;
  for (const RolledPoint *point : points) column.add(point->time_ns, point->duration_ns, value(*point));
}

// One column of a metric; absent: it was left out.
class ColumnOf {
 public:
  ColumnOf(ChunkReader &reader, const Part &min, int64_t metric, RolledColumn column) {
    const Part *part = reader.find(metric * kColumns + column);
    if (part == nullptr) return;
    has_chunk_ = true;
    is_good_ = part->timeline == min.timeline && reader.values(*part, values_);
  }
  bool is_good() const { return is_good_; }
  Number at(size_t i, const Number &assumed) const { return has_chunk_ ? values_.at(i) : assumed; }

 private:
  bool has_chunk_ = false, is_good_ = true;
  Values values_;
};

// Numbers from a file: durations and counts that cannot be are damage.
bool set_times(RolledPoint &point, const Number &count, const Number &last_back, const Number &first_back) {
  if (!count.is_count || !last_back.is_count || !first_back.is_count) return false;
  if (count.count < 1 || last_back.count < 0 || first_back.count < 0) return false;
  point.count = count.count;
  return !__builtin_sub_overflow(point.time_ns, last_back.count, &point.last_ns) &&
         !__builtin_sub_overflow(point.last_ns, first_back.count, &point.first_ns);
}

}  // namespace

int64_t end_of_step(int64_t time_ns, int64_t every_ns) {
  const int64_t rest = time_ns % every_ns;
  return rest > 0 ? plus(time_ns, every_ns - rest) : time_ns - rest;
}

Summary summary_of(const RolledPoint &point) {
  return {point.count,         point.first_ns,      point.last_ns,         point.sum.as_real(),
          point.min.as_real(), point.max.as_real(), point.first.as_real(), point.last.as_real()};
}

Number plain_value(const RolledPoint &point, Kind kind) {
  if (kind == Kind::delta) return point.sum;
  return kind == Kind::total || point.count == 1 ? point.last : real_number(point.average);
}

void RolledColumns::put(Series &series, const RolledPoint &point) {
  ++values_;
  const int64_t end_ns = end_of_step(point.time_ns, every_ns_);
  auto &points = series.points;
  const bool is_next = points.empty() || points.rbegin()->first < end_ns;
  const auto place = is_next ? points.end() : points.rbegin()->first == end_ns ? std::prev(points.end()) : points.find(end_ns);
  if (place != points.end()) return merge(place->second, point);
  points.emplace_hint(points.end(), end_ns, point)->second.time_ns = end_ns;
}

bool RolledColumns::add_chunk(ChunkReader &reader) {
  Values values;
  for (const Part &part : reader.parts()) {
    const Times *times = reader.times(part);
    if (times == nullptr || !reader.values(part, values)) return false;
    Series &series = series_[part.metric];
    series.decimals = std::max(series.decimals, decimals_of(part));
    for (size_t i = 0; i < times->times_ns.size(); ++i)
      put(series, rolled_from(times->times_ns[i], times->durations_ns[i], values.at(i)));
  }
  return true;
}

bool RolledColumns::add_rolled(ChunkReader &reader) {
  std::vector<RolledPoint> points;
  for (const int64_t metric : rolled_metrics(reader)) {
    if (!read_rolled(reader, metric, points)) return false;
    Series &series = series_[metric];
    const Part *sum = reader.find(metric * kColumns + kSum);
    series.decimals = std::max(series.decimals, decimals_of(sum != nullptr ? *sum : *reader.find(metric * kColumns + kMin)));
    for (const RolledPoint &point : points) put(series, point);
  }
  return true;
}

void RolledColumns::add(const RolledColumns &other) {
  for (const auto &[metric, series] : other.series_) {
    Series &to = series_[metric];
    to.decimals = std::max(to.decimals, series.decimals);
    for (const auto &[end_ns, point] : series.points) put(to, point);
  }
}

int64_t RolledColumns::end_after(int64_t time_ns) const {
  int64_t end_ns = INT64_MAX;
  for (const auto &[metric, series] : series_)
    if (const auto next = series.points.upper_bound(time_ns); next != series.points.end()) end_ns = std::min(end_ns, next->first);
  return end_ns;
}

int64_t RolledColumns::first_after(int64_t end_ns) const {
  int64_t first_ns = INT64_MAX;
  for (const auto &[metric, series] : series_)
    if (const auto next = series.points.upper_bound(end_ns); next != series.points.end())
      first_ns = std::min(first_ns, next->second.first_ns);
  return first_ns;
}

int64_t RolledColumns::last_end() const {
  int64_t end_ns = INT64_MIN;
  for (const auto &[metric, series] : series_)
    if (!series.points.empty()) end_ns = std::max(end_ns, series.points.rbegin()->first);
  return end_ns;
}

std::vector<Column> RolledColumns::columns(int64_t from_ns, int64_t to_ns) const {
  std::vector<Column> columns;
  std::vector<const RolledPoint *> points;
  for (const auto &[metric, series] : series_) {
    points.clear();
    const auto end = series.points.upper_bound(to_ns);
    for (auto point = series.points.upper_bound(from_ns); point != end; ++point) points.push_back(&point->second);
    if (points.empty()) continue;
    const auto put = [&, &number = metric](RolledColumn column, auto &&value, auto &&assumed) {
      put_column(columns, number * kColumns + column, points, value, assumed);
    };
    using Point = RolledPoint;
    const auto nothing = [](const Point &) { return real_number(std::nan("")); };  // equal to nothing: never left out
    const auto zero = [](const Point &) { return count_number(0); };
    const auto min = [](const Point &point) { return point.min; };
    const auto first = [](const Point &point) { return point.first; };
    put(kMin, min, nothing);
    put(
        kCount, [](const Point &point) { return count_number(point.count); }, [](const Point &) { return count_number(1); });
    put(
        kLastBack, [](const Point &point) { return count_number(minus(point.time_ns, point.last_ns)); }, zero);
    put(
        kFirstBack, [](const Point &point) { return count_number(minus(point.last_ns, point.first_ns)); }, zero);
    put(
        kSum, [decimals = series.decimals](const Point &point) { return rounded(point.sum, decimals); },
        [](const Point &point) { return product(point.min, point.count); });
    put(
        kMax, [](const Point &point) { return point.max; }, min);
    put(kFirst, first, min);
    put(
        kLast, [](const Point &point) { return point.last; }, first);
    if (!std::all_of(points.begin(), points.end(), [](const RolledPoint *point) { return is_plain_average(*point); }))
      put(
          kAverage, [](const Point &point) { return real_number(point.average); }, nothing);
  }
  return columns;
}

std::vector<int64_t> rolled_metrics(const ChunkReader &reader) {
  std::vector<int64_t> metrics;
  for (const Part &part : reader.parts())
    if (part.metric % kColumns == kMin) metrics.push_back(part.metric / kColumns);
  return metrics;
}

bool read_rolled(ChunkReader &reader, int64_t metric, std::vector<RolledPoint> &points) {
  points.clear();
  const Part *part = reader.find(metric * kColumns + kMin);
  if (part == nullptr) return true;
  const Times *times = reader.times(*part);
  Values mins;
  if (times == nullptr || !reader.values(*part, mins)) return false;
  const auto column = [&](RolledColumn which) { return ColumnOf(reader, *part, metric, which); };
  const std::array<ColumnOf, kColumnsBelow> columns = {column(kCount), column(kLastBack), column(kFirstBack), column(kSum),
                                                       column(kMax),   column(kFirst),    column(kLast),      column(kAverage)};
  if (!std::all_of(columns.begin(), columns.end(), [](const ColumnOf &one) { return one.is_good(); })) return false;
  const auto at = [&](RolledColumn which, size_t i, const Number &assumed) {
    return columns.at(static_cast<size_t>(which) - 1).at(i, assumed);
  };
  points.resize(times->times_ns.size());
  for (size_t i = 0; i < points.size(); ++i) {
    RolledPoint &point = points[i];
    point.time_ns = times->times_ns[i];
    point.duration_ns = times->durations_ns[i];
    if (!set_times(point, at(kCount, i, count_number(1)), at(kLastBack, i, count_number(0)), at(kFirstBack, i, count_number(0))))
      return false;
    point.min = mins.at(i);
    point.sum = at(kSum, i, product(point.min, point.count));
    point.max = at(kMax, i, point.min);
    point.first = at(kFirst, i, point.min);
    point.last = at(kLast, i, point.first);
    point.average = at(kAverage, i, real_number(plain_average(point))).as_real();
  }
  return true;
}

}  // namespace atalaya::store
