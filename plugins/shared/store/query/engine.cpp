// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/engine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "plugins/shared/io/match/matcher.h"
#include "plugins/shared/store/query/plan.h"

namespace atalaya::query {
namespace {

// An unknown metric is an error; a metric without points in the range is not.
void check_known(const Query &query, store::Store &store) {
  const std::vector<std::string> known = store.metrics();
  for (const std::string &pattern : query.metrics) {
    const auto matcher = io::Matcher::parse(pattern);
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
      if (const auto matcher = io::Matcher::parse(pattern); !matcher)
        throw Wrong("tag " + core::in_quotes(filter.key) + ": " + matcher.error());
}

constexpr size_t kPointsASeries = 20;  // the memory of its names and its place in a result

// The store has filters for present tags and for absent tags, not for both.
void leave_if_any(const std::vector<store::TagFilter> &filters, std::vector<store::Series> &series) {
  for (const store::TagFilter &filter : filters) {
    const auto matchers = io::MatcherList::parse(filter.patterns);
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
    return of_moments != (kinds == Kinds::instants);
  });
}

// The integral; where it is unknown the sum of the points, which are of equal steps.
double size_of(const Answer &answer) {
  if (answer.integral) return *answer.integral;
  double sum = 0;
  for (const Point &point : answer.points)
    if (!std::isnan(point.value)) sum += point.value;
  return sum;
}

}  // namespace

void release(const std::vector<Answer> &answers, Budget &budget) {
  for (const Answer &answer : answers) budget.release(points_of(answer));
}

void select_top(std::vector<Answer> &answers, size_t top, Budget &budget, std::vector<Answer> *rest) {
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
        budget.release(points_of(answers[i]));
      continue;
    }
    --left[metric];
    kept.push_back(std::move(answers[i]));
  }
  answers = std::move(kept);
}

std::vector<store::Series> selected(const Query &query, store::Store &store, size_t maximum) {
  check(query);
  auto series = store.series({query.metrics, query.tags, query.range}, maximum + 1);
  if (series.size() > maximum) throw TooManySeries("more than " + std::to_string(maximum) + " series match" + kAskForFewerSeries);
  if (query.kinds != Kinds::all) leave_kinds(query.kinds, series);
  if (!query.tags_if_any.empty()) leave_if_any(query.tags_if_any, series);
  if (series.empty() && query.kinds == Kinds::all) check_known(query, store);
  return series;
}

std::vector<store::Series> selected(const Query &query, store::Store &store, Budget &budget) {
  const Limits &limits = budget.limits();
  return selected(query, store, std::max(limits.series, limits.points / kPointsASeries));
}

std::vector<Answer> run_query(const Query &query, store::Store &store, Budget &budget) {
  Plan plan = plan_of(query, store, budget);
  return answers_of(query, plan, store, budget);
}

}  // namespace atalaya::query
