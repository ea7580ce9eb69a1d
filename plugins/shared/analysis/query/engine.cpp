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
#include "plugins/shared/analysis/query/collector.h"
#include "plugins/shared/analysis/query/merge.h"
#include "plugins/shared/match/matcher.h"
#include "plugins/shared/units/unit_text.h"

namespace atalaya::query {
namespace {

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

void leave_kinds(Kinds kinds, std::vector<store::Series> &series) {
  std::erase_if(series, [&](const store::Series &one) {
    const bool of_moments = one.kind() == store::Kind::total || one.kind() == store::Kind::unknown;
    return of_moments != (kinds == Kinds::of_moments);
  });
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

// The integral; where it is unknown the sum of the points, which are of equal steps.
double size_of(const Answer &answer) {
  if (answer.integral) return *answer.integral;
  double sum = 0;
  for (const Point &point : answer.points)
    if (!std::isnan(point.value)) sum += point.value;
  return sum;
}

Range wider(const Range &range) {
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min() + Hold::kLongest;
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max() - Hold::kLongest;
  return {std::max(range.from_ns, kFirst) - Hold::kLongest, std::min(range.to_ns, kLast) + Hold::kLongest};
}

}  // namespace

void release(const std::vector<Answer> &answers, Budget &budget) {
  for (const Answer &answer : answers) budget.release(held_by(answer));
}

void keep_top(std::vector<Answer> &answers, size_t top, Budget &budget, std::vector<Answer> *rest) {
  if (top == 0) return;
  // Metrics in the order in which they came: a MiB is not more than a per cent.
  std::map<std::string_view, size_t> metrics;
  std::vector<std::tuple<size_t, double, size_t>> order;
  order.reserve(answers.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    const size_t metric = metrics.try_emplace(answers[i].metric, metrics.size()).first->second;
    order.emplace_back(metric, -size_of(answers[i]), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<size_t> left(metrics.size(), top);
  metrics.clear();  // its names go with the answers
  std::vector<Answer> kept;
  for (const auto &[metric, negative, i] : order) {
    if (left[metric] == 0) {
      if (rest != nullptr)
        rest->push_back(std::move(answers[i]));
      else
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
  if (query.kinds != Kinds::all) leave_kinds(query.kinds, series);
  if (!query.tags_if_any.empty()) leave_if_any(query.tags_if_any, series);
  if (series.empty() && query.kinds == Kinds::all) check_known(query, store);
  return series;
}

std::vector<Answer> answers_to(const Query &query, store::Store &store, Budget &budget) {
  check(query);
  Query selection = query;
  if (may_integrate(query)) selection.range = wider(query.range);
  const auto series = selected(selection, store, budget);
  check_intervals(query, series.size(), budget.limits());
  const std::vector<Group> groups = groups_of(series, query);
  Collector collector(query, series, alone(groups, query, series.size()), budget);
  store.scan(series, selection.range, collector);
  collector.check_points();
  std::vector<Answer> answers;
  for (Group group : groups) {
    Answer answer;
    answer.metric = group.metric;
    std::vector<std::vector<Point>> points;
    points.reserve(group.series.size());
    std::erase_if(group.series, [&](size_t i) {
      std::vector<Point> own = collector.take_points(i);
      if (own.empty()) return true;
      points.push_back(std::move(own));
      return false;
    });
    if (points.empty()) continue;
    collector.add_extent(group.series, answer);
    answer.points = query.group ? merged(points, collector.aggregator_of(group.series), budget) : std::move(points.front());
    if (query.group)
      for (const std::vector<Point> &of_one : points) budget.release(of_one.size());
    if (group.series.size() == 1) answer.counts = collector.take_counts(group.series.front());
    set_tags(group, series, answer);
    answer.info = info_of(series[group.series.front()].info, query);
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace atalaya::query
