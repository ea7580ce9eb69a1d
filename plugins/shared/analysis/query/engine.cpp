// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/query/engine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/suggest.h"
#include "core/base/text.h"
#include "plugins/shared/analysis/query/downsample.h"
#include "plugins/shared/analysis/query/merge.h"
#include "plugins/shared/analysis/query/rate.h"
#include "plugins/shared/analysis/query/time_text.h"
#include "plugins/shared/match/matcher.h"
#include "plugins/shared/units/unit_text.h"

namespace atalaya::query {
namespace {

// Receives the points of all series from the store.
class Collector : public store::PointVisitor {
 public:
  // `alone`: the series that are the only one of an answer, which has their exact values.
  Collector(const Query &query, const std::vector<store::Series> &series, std::vector<bool> alone, Budget &budget)
      : query_(query),
        budget_(budget),
        alone_(std::move(alone)),
        intervals_(query.downsample.value_or(Downsample{}), query.range, query.edge) {
    if (query.rate) rates_.resize(series.size(), RateOf(*query.rate));
    raw_.resize(query.downsample ? 0 : series.size());
    counts_.resize(raw_.size());
    is_step_.resize(raw_.size());
    downsamplers_.reserve(query.downsample ? series.size() : 0);
    for (const store::Series &one : series)
      if (query.downsample) downsamplers_.emplace_back(intervals_, function_for(one.kind()));
  }

  std::optional<store::Steps> steps() const override {
    if (!query_.downsample || query_.rate) return std::nullopt;
    if (query_.downsample->function && query_.downsample->function->needs_values()) return std::nullopt;
    return intervals_.steps();
  }

  bool take(size_t series, const store::Summary &summary) override {
    if (!query_.downsample || query_.rate) return false;
    const size_t before = size_of(series);
    if (!downsamplers_[series].add(summary)) return false;
    budget_.release(before);
    budget_.hold(size_of(series));
    budget_.work(kSummary);
    return true;
  }

  void points(size_t series, const store::Points &points) override {
    const size_t before = size_of(series);
    for (size_t i = 0; i < points.times_ns.size(); ++i) {
      const auto count = points.counts.empty() ? std::nullopt : std::optional(points.counts[i]);
      add(series, points.times_ns[i], points.values[i], count);
    }
    budget_.release(before);
    budget_.hold(size_of(series));
    budget_.check_time();
  }

  void rolled(size_t series, const store::Summary &summary, const store::Points &plain) override {
    const int64_t time_ns = plain.times_ns.front();
    if (query_.downsample && downsamplers_[series].needs_points()) {
      rolled_until_ns_ = std::max(rolled_until_ns_, time_ns);
      return;
    }
    const size_t before = size_of(series);
    if (query_.rate) {
      if (const auto rate = rates_[series].add_rolled(summary)) add_value(series, summary.last_ns, *rate, std::nullopt);
    } else if (query_.downsample) {
      // The last moment of a step belongs to the interval that ends then.
      downsamplers_[series].add_rolled(query_.edge == Edge::end ? time_ns : time_ns - 1, summary);
    } else {
      std::vector<Point> &points = raw_[series];
      // A late point of that very time becomes a part of the step, too.
      if (!points.empty() && points.back().time_ns == time_ns) points.pop_back();
      is_step_[series] = summary.count > 1;
      const auto count = plain.counts.empty() ? std::nullopt : std::optional(plain.counts.front());
      add_value(series, time_ns, plain.values.front(), count);
    }
    budget_.release(before);
    budget_.hold(size_of(series));
    budget_.work(1);
  }

  // Throws if the answer needs points that were rolled up.
  void check_points() const {
    if (rolled_until_ns_ == std::numeric_limits<int64_t>::min()) return;
    const std::string until = time_text(rolled_until_ns_);
    throw Wrong(core::in_quotes(query_.downsample->function->name) + " of an interval needs all its points, and points until " +
                until + " are rolled up; query the time from " + until + ", or use sum, avg, min, max, count, first or last");
  }

  // Of a series whose stored points are the answer.
  std::vector<Count> take_counts(size_t series) { return query_.downsample ? std::vector<Count>{} : std::move(counts_[series]); }

  std::vector<Point> take_points(size_t series) {
    if (!query_.downsample) return std::move(raw_[series]);
    const size_t before = size_of(series);
    std::vector<Point> points = downsamplers_[series].take();
    if (!points.empty()) points = filled(points, intervals_, query_.downsample->fill);
    budget_.release(before);
    budget_.hold(points.size());
    budget_.work(points.size());
    return points;
  }

 private:
  static constexpr size_t kSummary = 100;  // its cost in steps, about

  const Aggregator &function_for(store::Kind kind) const {
    static const Aggregator average = *Aggregator::find("avg");
    static const Aggregator sum = *Aggregator::find("sum");
    if (query_.downsample->function) return *query_.downsample->function;
    return kind == store::Kind::delta && !query_.rate ? sum : average;
  }
  size_t size_of(size_t series) const {
    return query_.downsample ? downsamplers_[series].size() : raw_[series].size() + counts_[series].size();
  }

  void add(size_t series, int64_t time_ns, double value, const std::optional<int64_t> &count) {
    if (!query_.rate) return add_value(series, time_ns, value, count);
    if (const auto rate = rates_[series].add(time_ns, value, count)) add_value(series, time_ns, *rate, std::nullopt);
  }
  void add_value(size_t series, int64_t time_ns, double value, const std::optional<int64_t> &count) {
    if (query_.downsample) return downsamplers_[series].add(time_ns, value);
    // A point at the very end of a rolled step is a part of the step, or the same sample again.
    if (!raw_[series].empty() && raw_[series].back().time_ns == time_ns) {
      if (!is_step_[series]) raw_[series].back().value = value;
      return;
    }
    raw_[series].push_back({time_ns, value});
    if (count && alone_[series] && (*count > kExactCounts || *count < -kExactCounts)) counts_[series].push_back({time_ns, *count});
  }

  const Query &query_;
  Budget &budget_;
  const std::vector<bool> alone_;
  const Intervals intervals_;
  std::vector<RateOf> rates_;
  std::vector<Downsampler> downsamplers_;
  std::vector<std::vector<Point>> raw_;
  std::vector<std::vector<Count>> counts_;
  std::vector<bool> is_step_;                                      // by series: its last rolled point has several samples
  int64_t rolled_until_ns_ = std::numeric_limits<int64_t>::min();  // points that a function needs are missing up to then
};

// The series of one answer.
struct Group {
  std::string metric;
  std::vector<size_t> series;
};

std::vector<std::string> group_key(const store::Series &series, const Query &query) {
  std::vector<std::string> key = {series.metric};
  const bool all = !query.group || std::find(query.group_by.begin(), query.group_by.end(), "*") != query.group_by.end();
  if (all) {
    for (const auto &[name, value] : series.tags) {
      key.push_back(name);
      key.push_back(value);
    }
    return key;
  }
  for (const std::string &name : query.group_by) {
    const auto found = series.tags.find(name);
    key.push_back(found == series.tags.end() ? "" : found->second);
  }
  return key;
}

std::vector<Group> groups_of(const std::vector<store::Series> &series, const Query &query) {
  std::map<std::vector<std::string>, Group> groups;
  for (size_t i = 0; i < series.size(); ++i) {
    Group &group = groups[group_key(series[i], query)];
    group.metric = series[i].metric;
    group.series.push_back(i);
  }
  std::vector<Group> list;
  list.reserve(groups.size());
  for (auto &[key, group] : groups) list.push_back(std::move(group));
  return list;
}

std::vector<bool> alone(const std::vector<Group> &groups, const Query &query, size_t series) {
  std::vector<bool> alone(series, false);
  if (query.group && !query.aggregator.keeps_one()) return alone;
  for (const Group &group : groups)
    if (group.series.size() == 1) alone[group.series.front()] = true;
  return alone;
}

void set_tags(const Group &group, const std::vector<store::Series> &series, Answer &answer) {
  answer.tags = series[group.series.front()].tags;
  std::set<std::string> differing;
  for (const size_t i : group.series) {
    const Tags &tags = series[i].tags;
    for (const auto &[key, value] : tags)
      if (const auto common = answer.tags.find(key); common == answer.tags.end() || common->second != value) differing.insert(key);
    std::erase_if(answer.tags, [&](const auto &tag) {
      const auto own = tags.find(tag.first);
      if (own != tags.end() && own->second == tag.second) return false;
      differing.insert(tag.first);
      return true;
    });
  }
  answer.aggregated_tags.assign(differing.begin(), differing.end());
}

// An unknown metric is an error; a metric without points in the range is not.
void check_known(const Query &query, store::Store &store) {
  const std::vector<std::string> known = store.metrics();
  for (const std::string &pattern : query.metrics) {
    const auto matcher = core::Matcher::parse(pattern);
    if (!matcher) throw Wrong("metric " + core::in_quotes(pattern) + ": " + matcher.error());
    if (std::any_of(known.begin(), known.end(), [&](const std::string &name) { return matcher.value().matches(name); })) continue;
    throw UnknownMetric("metric " + core::in_quotes(pattern) + " is not in the store " + store.name() +
                        (known.empty() ? "; it is empty" : core::did_you_mean(pattern, known)));
  }
}

void check(const Query &query) {
  if (query.range.to_ns <= query.range.from_ns) throw Wrong("the time ends before it begins; --from must be before --to");
  for (const store::TagFilter &filter : query.tags)
    for (const std::string &pattern : filter.patterns)
      if (const auto matcher = core::Matcher::parse(pattern); !matcher)
        throw Wrong("tag " + core::in_quotes(filter.key) + ": " + matcher.error());
}

// The store has filters for present tags and for absent tags, not for both.
void leave_if_any(const std::vector<store::TagFilter> &filters, std::vector<store::Series> &series) {
  for (const store::TagFilter &filter : filters) {
    const auto matchers = core::MatcherList::parse(filter.patterns);
    if (!matchers) throw Wrong("tag " + core::in_quotes(filter.key) + ": " + matchers.error());
    std::erase_if(series, [&](const store::Series &one) {
      const auto tag = one.tags.find(filter.key);
      return tag != one.tags.end() && !matchers.value().matches(tag->second);
    });
  }
}

// Fill policies create points: the number is checked before the first one.
void check_intervals(const Query &query, size_t series, const Limits &limits) {
  if (!query.downsample || query.downsample->fill == Fill::none || query.downsample->interval_ns == 0) return;
  const double wanted = (static_cast<double>(query.range.to_ns) - static_cast<double>(query.range.from_ns)) /
                        static_cast<double>(query.downsample->interval_ns) * static_cast<double>(series);
  if (wanted > static_cast<double>(limits.points))
    throw TooMuch("a point for each interval of each series would be more than " + std::to_string(limits.points) + " points" +
                  kAskForLess);
}

// A rate and a count have a unit and a kind of their own.
std::shared_ptr<const store::MetricInfo> info_of(const std::shared_ptr<const store::MetricInfo> &stored, const Query &query) {
  const auto counts = [](const Aggregator &one) { return one.function == Aggregator::Function::count; };
  if (!stored || stored->kind == store::Kind::unknown) return nullptr;
  const bool is_count =
      counts(query.aggregator) || (query.downsample && query.downsample->function && counts(*query.downsample->function));
  if (!is_count && !query.rate) return stored;
  store::MetricInfo info = *stored;
  info.kind = is_count ? store::Kind::gauge : store::Kind::rate;
  info.unit = is_count ? "1" : core::per_second(stored->unit);
  return std::make_shared<const store::MetricInfo>(std::move(info));
}

struct Total {
  double sum = 0;
  size_t count = 0;
};

// Of the points that are numbers.
Total total_of(const Answer &answer) {
  Total total;
  for (const Point &point : answer.points) {
    if (std::isnan(point.value)) continue;
    total.sum += point.value;
    ++total.count;
  }
  return total;
}

}  // namespace

double average_of(const Answer &answer) {
  const Total total = total_of(answer);
  return total.count == 0 ? std::numeric_limits<double>::quiet_NaN() : total.sum / static_cast<double>(total.count);
}

void release(const std::vector<Answer> &answers, Budget &budget) {
  for (const Answer &answer : answers) budget.release(held_by(answer));
}

void keep_top(std::vector<Answer> &answers, size_t top, Budget &budget, Most most) {
  if (top == 0) return;
  // Metrics in the order in which they came: a MiB is not more than a per cent.
  std::map<std::string_view, size_t> metrics;
  std::vector<std::tuple<size_t, double, size_t>> order;
  order.reserve(answers.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    const size_t metric = metrics.try_emplace(answers[i].metric, metrics.size()).first->second;
    const double size = most == Most::sum ? total_of(answers[i]).sum : average_of(answers[i]);
    order.emplace_back(metric, std::isnan(size) ? std::numeric_limits<double>::infinity() : -size, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<size_t> left(metrics.size(), top);
  metrics.clear();  // its names go with the answers
  std::vector<Answer> kept;
  for (const auto &[metric, negative, i] : order) {
    if (left[metric] == 0) {
      budget.release(held_by(answers[i]));
      continue;
    }
    --left[metric];
    kept.push_back(std::move(answers[i]));
  }
  answers = std::move(kept);
}

std::vector<store::Series> selected(const Query &query, store::Store &store, Budget &budget) {
  check(query);
  const Limits &limits = budget.limits();
  auto series = store.series({query.metrics, query.tags, query.range}, limits.series + 1);
  if (series.size() > limits.series) throw TooMuch("more than " + std::to_string(limits.series) + " series match" + kAskForLess);
  if (!query.tags_if_any.empty()) leave_if_any(query.tags_if_any, series);
  if (series.empty()) check_known(query, store);
  return series;
}

std::vector<Answer> answers_to(const Query &query, store::Store &store, Budget &budget) {
  const auto series = selected(query, store, budget);
  check_intervals(query, series.size(), budget.limits());
  const std::vector<Group> groups = groups_of(series, query);
  Collector collector(query, series, alone(groups, query, series.size()), budget);
  store.scan(series, query.range, collector);
  collector.check_points();
  std::vector<Answer> answers;
  for (const Group &group : groups) {
    std::vector<std::vector<Point>> points;
    points.reserve(group.series.size());
    for (const size_t i : group.series) points.push_back(collector.take_points(i));
    Answer answer;
    answer.metric = group.metric;
    answer.points = query.group ? merged(points, query.aggregator, budget) : std::move(points.front());
    if (query.group)
      for (const std::vector<Point> &of_one : points) budget.release(of_one.size());
    if (group.series.size() == 1) answer.counts = collector.take_counts(group.series.front());
    if (answer.points.empty()) continue;
    set_tags(group, series, answer);
    answer.info = info_of(series[group.series.front()].info, query);
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace atalaya::query
