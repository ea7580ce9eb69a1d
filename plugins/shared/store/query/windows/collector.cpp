// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/windows/collector.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/sample/span_end.h"
#include "core/base/text/text.h"
#include "plugins/shared/io/time/time_text.h"

namespace atalaya::query {
namespace {

using Function = Aggregator::Function;
using store::Kind;

constexpr size_t kSummary = 100;  // its cost in steps, about

// Both are in order of time; of equal times the value of `a` counts.
std::vector<Point> united(std::vector<Point> a, const std::vector<Point> &b) {
  if (b.empty()) return a;
  std::vector<Point> all;
  all.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all),
             [](const Point &one, const Point &other) { return one.time_ns < other.time_ns; });
  const auto is_same = [](const Point &one, const Point &other) { return one.time_ns == other.time_ns; };
  all.erase(std::unique(all.begin(), all.end(), is_same), all.end());
  return all;
}

bool adds_up(const Query &query) {
  return !query.group || query.aggregator.function == Function::sum;
}

// Whether intervals of the query have integrals, of some kinds of metrics.
bool may_integrate(const Query &query) {
  const auto &function = query.downsample->function;
  return !function || (function->function == Function::avg && query.group && adds_up(query));
}

}  // namespace

bool merges_windows(const Query &query) {
  return !query.downsample && query.group && !query.rate;
}

bool needs_windows(const Query &query) {
  return query.downsample && (!query.downsample->function || OverTime::supports(*query.downsample->function));
}

bool needs_points(const Query &query) {
  return query.downsample && query.downsample->function && query.downsample->function->needs_values();
}

Collector::Collector(const Query &query, const std::vector<store::Series> &series,
                     const std::vector<const store::CollectedTime *> &collected, std::vector<bool> alone, Budget &budget)
    : query_(query),
      budget_(budget),
      alone_(std::move(alone)),
      intervals_(query.downsample.value_or(Downsample{}), query.range, query.edge),
      function_(query.downsample.value_or(Downsample{}).function.value_or(*Aggregator::find("last"))),
      collected_(collected),
      states_(series.size()) {
  if (query.rate) rates_.resize(series.size(), RateOf(*query.rate));
  for (size_t i = 0; i < series.size(); ++i) {
    const Kind kind = series[i].kind();
    states_[i].amounts = kind == Kind::delta && !query.rate;
    states_[i].holds = (kind == Kind::gauge || kind == Kind::rate) && !query.rate;
    if (!query.downsample) continue;
    const bool integral = is_integral(kind);
    if (integral) states_[i].integral.emplace(intervals_, states_[i].amounts, *collected[i], budget);
    const bool over_time = !integral && is_over_time(kind);
    if (over_time) states_[i].over_time.emplace(intervals_, function_, budget);
    // Next to windows, of an average of instants.
    const bool has_function = integral ? query.downsample->function.has_value() : !over_time || function_.function == Function::avg;
    if (has_function) states_[i].function.emplace(intervals_, function_);
  }
}

bool Collector::is_integral(Kind kind) const {
  if (!may_integrate(query_)) return false;
  if (query_.rate) return true;
  return kind != Kind::total && (kind != Kind::delta || !query_.downsample->function);
}

// A delta is the amount of its window, not a value at each time of it.
bool Collector::is_over_time(Kind kind) const {
  return !query_.rate && OverTime::supports(function_) && (kind == Kind::gauge || kind == Kind::rate);
}

std::optional<store::Steps> Collector::steps(size_t series) const {
  const SeriesState &kept = states_[series];
  if (!query_.downsample || query_.rate) return std::nullopt;
  if (kept.has_windows()) return intervals_.integral_steps();
  return kept.function->needs_points() ? std::nullopt : std::optional(intervals_.steps());
}

bool Collector::take(size_t series, const store::Summary &summary) {
  SeriesState &kept = states_[series];
  if (!query_.downsample || query_.rate) return false;
  budget_.work(kSummary);
  if (kept.integral) return kept.integral->add(summary);
  if (kept.over_time) {
    if (!kept.over_time->add(summary)) return false;
    kept.value_windows.skip(summary.last_ns, summary.durations_ns / std::max<int64_t>(1, summary.count));
    return true;
  }
  if (is_outside(summary.first_ns) || is_outside(summary.last_ns)) return false;
  const size_t before = size_of(kept);
  if (!kept.function->add(summary)) return false;
  const int64_t between = summary.count > 1 ? (summary.last_ns - summary.first_ns) / (summary.count - 1) : 0;
  kept.value_windows.add(summary.last_ns, between, 0, [](const ValueWindow &) {});
  budget_.release(before);
  budget_.reserve(size_of(kept));
  return true;
}

void Collector::points(size_t series, const store::Points &points) {
  SeriesState &kept = states_[series];
  if (kept.integral && !kept.function && !query_.rate) {
    kept.integral->add(points);
    return budget_.work(points.times_ns.size());
  }
  const size_t before = size_of(kept);
  for (size_t i = 0; i < points.times_ns.size(); ++i) {
    const auto count = points.counts.empty() ? std::nullopt : std::optional(points.counts[i]);
    add(series, points.times_ns[i], points.durations_ns[i], points.values[i], count);
  }
  budget_.release(before);
  budget_.reserve(size_of(kept));
  budget_.check_time();
}

void Collector::rolled(size_t series, const store::Summary &summary, const store::Points &plain) {
  SeriesState &kept = states_[series];
  const size_t before = size_of(kept);
  add_rolled(series, summary, plain);
  budget_.release(before);
  budget_.reserve(size_of(kept));
  budget_.work(1);
}

void Collector::add_rolled(size_t series, const store::Summary &summary, const store::Points &plain) {
  SeriesState &kept = states_[series];
  const int64_t time_ns = plain.times_ns.front();
  const bool is_instant = plain.durations_ns.front() <= 0;
  const bool is_of_function = kept.function && (!kept.has_windows() || is_instant);
  if (is_of_function && is_outside(time_ns)) return;
  if (is_of_function && kept.function->needs_points()) {
    rolled_until_ns_ = std::max(rolled_until_ns_, time_ns);
  } else if (query_.rate) {
    const auto rate = rates_[series].add_rolled(summary);
    if (rate) add_value(series, {summary.last_ns, is_of_function ? 0 : rates_[series].step_ns(), *rate}, std::nullopt);
  } else if (is_of_function) {
    // The last moment of a step belongs to the interval that ends then.
    kept.function->add_rolled(query_.edge == Edge::end ? time_ns : time_ns - 1, summary);
  } else if (kept.over_time) {
    kept.over_time->add_rolled(summary, plain);
  } else if (kept.integral) {
    if (kept.amounts && is_instant) return kept.integral->add(time_ns, 0, plain.values.front());
    for_each_held(summary, plain, kept.amounts,
                  [&](const ValueWindow &held) { kept.integral->add(held.time_ns, held.duration_ns, held.value); });
  } else if (!is_outside(time_ns)) {
    // A late point of that very time becomes a part of the step, too.
    if (!kept.points.empty() && kept.points.back().time_ns == time_ns) kept.points.pop_back();
    kept.is_step = summary.count > 1;
    const auto count = plain.counts.empty() ? std::nullopt : std::optional(plain.counts.front());
    add_raw(series, {time_ns, std::max(plain.durations_ns.front(), summary.last_ns - summary.first_ns), plain.values.front()},
            count);
  }
}

void Collector::add(size_t series, int64_t time_ns, int64_t duration_ns, double value, const std::optional<int64_t> &count) {
  const SeriesState &kept = states_[series];
  // Functions and rates of points are of the points in the range.
  const bool is_of_function = !kept.has_windows() || (kept.function && duration_ns <= 0);
  if (is_of_function && is_outside(time_ns)) return add_next(series, {time_ns, value, duration_ns});
  if (!query_.rate) return add_value(series, {time_ns, duration_ns, value}, count);
  const auto rate = rates_[series].add(time_ns, value, count);
  if (rate) add_value(series, {time_ns, is_of_function && query_.downsample ? 0 : rates_[series].step_ns(), *rate}, std::nullopt);
}

// The window that contains the end of the range: it has a value there, if points are merged.
void Collector::add_next(size_t series, const Point &point) {
  SeriesState &kept = states_[series];
  const int64_t to_ns = query_.range.to_ns;
  const bool is_first = kept.points.empty() || kept.points.back().time_ns <= to_ns;
  if (merges_windows(query_) && kept.holds && is_first && point.time_ns > to_ns && point.covers(to_ns))
    kept.points.push_back(point);
}

void Collector::add_value(size_t series, const ValueWindow &held, const std::optional<int64_t> &count) {
  SeriesState &kept = states_[series];
  if (kept.integral && (held.duration_ns > 0 || !kept.function))
    return kept.integral->add(held.time_ns, held.duration_ns, held.value);
  if (kept.over_time && (held.duration_ns > 0 || !kept.function)) {
    kept.value_windows.add(held.time_ns, held.duration_ns, 0, [](const ValueWindow &) {});
    return kept.over_time->add(held.time_ns, held.duration_ns, held.value);
  }
  if (kept.function) {
    ++kept.instants;
    kept.value_windows.add(held.time_ns, held.duration_ns, 0, [](const ValueWindow &) {});
    return kept.function->add(held.time_ns, held.value);
  }
  add_raw(series, held, count);
}

void Collector::add_raw(size_t series, const ValueWindow &held, const std::optional<int64_t> &count) {
  SeriesState &kept = states_[series];
  if (kept.amounts) kept.total += held.value;
  kept.value_windows.add(held.time_ns, held.duration_ns, held.value, [&](const ValueWindow &one) { add_total(kept, one); });
  // A point at the very end of a rolled step is a part of the step, or the same sample again.
  if (!kept.points.empty() && kept.points.back().time_ns == held.time_ns) {
    if (!kept.is_step) kept.points.back().value = held.value;
    return;
  }
  kept.points.push_back({held.time_ns, held.value, kept.holds ? held.duration_ns : 0});
  if (count && alone_[series] && (*count > kExactCounts || *count < -kExactCounts)) kept.counts.push_back({held.time_ns, *count});
}

void Collector::add_total(SeriesState &kept, const ValueWindow &held) const {
  if (kept.amounts) return;
  const int64_t begin_ns = std::max(core::start_of(held.time_ns, held.duration_ns), query_.range.from_ns);
  kept.total += held.value * static_cast<double>(held.time_ns - begin_ns);
}

size_t Collector::size_of(const SeriesState &kept) {
  return (kept.function ? kept.function->size() : 0) + kept.points.size() + kept.counts.size();
}

void Collector::check_points() const {
  if (rolled_until_ns_ == std::numeric_limits<int64_t>::min()) return;
  const std::string until = io::time_text(rolled_until_ns_);
  throw Wrong(core::in_quotes(query_.downsample->function->name) + " of an interval needs all its points, and points until " +
              until + " are rolled up; query the time from " + until + ", or use sum, avg, min, max, count, first or last");
}

std::vector<Point> Collector::take_points(size_t series) {
  SeriesState &kept = states_[series];
  if (!query_.downsample) return std::move(kept.points);
  budget_.release(size_of(kept));
  std::vector<Point> points;
  if (kept.integral) points = kept.integral->take();
  if (kept.over_time) points = kept.over_time->take();
  if (kept.function) {
    std::vector<Point> by_function = kept.function->take();
    if (has_starts_only(series)) by_function.clear();
    kept.by_function = !by_function.empty();
    // Averages are weighted by time, so that instants count only where there is no window.
    points = united(std::move(points), by_function);
  }
  if (!points.empty()) points = filled(points, intervals_, query_.downsample->fill);
  budget_.reserve(points.size());
  budget_.work(points.size());
  return points;
}

// The instants of a series of windows are the first readings of starts.
bool Collector::has_starts_only(size_t series) const {
  const SeriesState &kept = states_[series];
  if (!kept.integral || !collected_[series]->has_windows()) return false;
  return kept.instants == 1 || kept.integral->value_windows().step_ns() > 0;
}

void Collector::add_extent(std::span<const size_t> series, Answer &answer) const {
  double sum = 0;
  bool is_known = adds_up(query_);
  for (const size_t i : series) {
    const SeriesState &kept = states_[i];
    is_known = is_known && !kept.function && !kept.over_time;
    sum += kept.integral ? kept.integral->total() : kept.total;
    answer.window_ns = std::max(answer.window_ns, (kept.integral ? kept.integral->value_windows() : kept.value_windows).step_ns());
  }
  if (is_known) answer.integral = sum;
}

Aggregator Collector::aggregator_of(std::span<const size_t> series) const {
  const bool integrals =
      std::all_of(series.begin(), series.end(), [&](size_t i) { return states_[i].integral && !states_[i].by_function; });
  return integrals && adds_up(query_) ? Aggregator::zimsum() : query_.aggregator;
}

}  // namespace atalaya::query
