// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "plugins/shared/io/units/unit_text.h"
#include "plugins/shared/store/lookup.h"
#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/merge.h"
#include "plugins/shared/store/query/windows/collected.h"

namespace atalaya::query {
namespace {

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
  std::map<std::vector<std::string>, std::vector<size_t>> groups;
  for (size_t i = 0; i < series.size(); ++i) groups[group_key(series[i], query)].push_back(i);
  std::vector<Group> list;
  list.reserve(groups.size());
  while (!groups.empty()) {
    auto group = groups.extract(groups.begin());
    list.push_back({std::move(group.key()), std::move(group.mapped())});
  }
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

// Fill policies create points: the number is checked before the first one.
void check_intervals(const Query &query, size_t series, const Limits &limits) {
  if (!query.downsample || query.downsample->fill == Fill::none || query.downsample->interval_ns == 0) return;
  const double wanted = (static_cast<double>(query.range.to_ns) - static_cast<double>(query.range.from_ns)) /
                        static_cast<double>(query.downsample->interval_ns) * static_cast<double>(series);
  if (wanted > static_cast<double>(limits.points))
    throw TooManyPoints("a point for each interval of each series would be more than " + std::to_string(limits.points) + " points" +
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
  info.unit = is_count ? "1" : io::per_second(stored->unit);
  return std::make_shared<const store::MetricInfo>(std::move(info));
}

// One series of a group; of one member its points as they are, with their windows.
std::vector<Point> together(std::vector<std::vector<Point>> &members, const Aggregator &aggregator, const Query &query,
                            Budget &budget) {
  const int64_t until_ns = merges_windows(query) ? query.range.to_ns : std::numeric_limits<int64_t>::max();
  if (!query.group || (members.size() == 1 && aggregator.keeps_one())) {
    std::vector<Point> points = std::move(members.front());
    if (!points.empty() && points.back().time_ns > until_ns) {
      points.pop_back();
      budget.release(1);
    }
    return points;
  }
  std::vector<Point> points = merged(members, aggregator, budget, until_ns);
  for (const std::vector<Point> &of_one : members) budget.release(of_one.size());
  return points;
}

std::vector<const store::CollectedTime *> collected_of(const std::vector<store::Series> &series,
                                                       const store::Collection &collection) {
  std::vector<const store::CollectedTime *> times;
  times.reserve(series.size());
  for (const store::Series &one : series)
    times.push_back(&collection.collected_time_of(store::tag_of(one.tags, "host"), store::family_of(one.metric)));
  return times;
}

// The times of the group's hosts, each once.
std::vector<const store::CollectedTime *> collected_of(const Group &group, const Plan &plan) {
  std::vector<const store::CollectedTime *> times;
  for (const size_t i : group.series) times.push_back(plan.collected[i]);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

Range wider(const Range &range) {
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min() + ValueWindows::kLongest;
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max() - ValueWindows::kLongest;
  return {std::max(range.from_ns, kFirst) - ValueWindows::kLongest, std::min(range.to_ns, kLast) + ValueWindows::kLongest};
}

}  // namespace

Plan Plan::part(size_t begin, size_t end) const {
  Plan part{range, {}, {}, collection, {}};
  for (size_t g = begin; g < end; ++g) {
    Group group{groups[g].key, {}};
    for (const size_t i : groups[g].series) {
      group.series.push_back(part.series.size());
      part.series.push_back(series[i]);
      part.collected.push_back(collected[i]);
    }
    part.groups.push_back(std::move(group));
  }
  return part;
}

Plan plan_of(const Query &query, store::Store &store, Budget &budget) {
  Query selection = query;
  const bool is_range = query.range.to_ns > query.range.from_ns;
  if (is_range && needs_windows(query)) selection.range = wider(query.range);
  if (is_range && merges_windows(query)) selection.range.to_ns = wider(query.range).to_ns;
  Plan plan{selection.range, selected(selection, store, budget), {}, {}, {}};
  plan.groups = groups_of(plan.series, query);
  plan.collection = std::make_shared<const store::Collection>(query.downsample ? store.collected(query.range)
                                                                               : std::vector<store::CollectedRow>());
  plan.collected = collected_of(plan.series, *plan.collection);
  return plan;
}

void check_points(const Query &query, const Plan &plan, store::Store &store, Budget &budget) {
  Collector collector(query, plan.series, plan.collected, std::vector<bool>(plan.series.size(), false), budget);
  store.scan(plan.series, plan.range, collector);
  collector.check_points();
}

std::vector<Answer> answers_of(const Query &query, Plan &plan, store::Store &store, Budget &budget) {
  check_intervals(query, plan.series.size(), budget.limits());
  Collector collector(query, plan.series, plan.collected, alone(plan.groups, query, plan.series.size()), budget);
  store.scan(plan.series, plan.range, collector);
  collector.check_points();
  std::vector<Answer> answers;
  for (Group &group : plan.groups) {
    Answer answer;
    answer.metric = group.key.front();
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
    answer.points = together(points, collector.aggregator_of(group.series), query, budget);
    if (answer.points.empty()) continue;
    if (group.series.size() == 1) answer.counts = collector.take_counts(group.series.front());
    if (query.downsample) set_coverage(query, collected_of(group, plan), answer, budget);
    set_tags(group, plan.series, answer);
    answer.info = info_of(plan.series[group.series.front()].info, query);
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace atalaya::query
