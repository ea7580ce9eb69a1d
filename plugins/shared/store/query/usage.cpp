// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/usage.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/sample/span_end.h"
#include "plugins/shared/io/units/unit_text.h"
#include "plugins/shared/store/lookup.h"
#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/levels.h"
#include "plugins/shared/store/query/pid_parts.h"
#include "plugins/shared/store/query/windows/collected.h"
#include "plugins/shared/store/query/windows/hold.h"

namespace atalaya::query {
namespace {

constexpr int64_t kMaxWindow = ValueWindows::kLongest;
constexpr size_t kGroupsAPart = 20'000;
constexpr size_t kPointsAUsage = 20;  // the memory of one, in points

struct UsageGroup {
  Usage usage;
  store::Kind kind = store::Kind::unknown;
  double per_second = 1;
  Levels levels;                                         // its value at each time
  std::map<const store::CollectedTime *, double> hosts;  // the sum of each
};

using UsageGroups = std::map<std::pair<std::string, Tags>, UsageGroup>;

// Adds the points of some series to groups.
class Integrals : public store::PointVisitor {
 public:
  Integrals(const std::vector<store::Series> &series, const std::vector<std::string> &group_by, const Range &range,
            const store::Collection &collection, Budget &budget, const store::MetricInfo *undeclared, UsageGroups &groups)
      : range_(range), budget_(budget), holds_(series.size()), last_(series.size(), 0), last_values_(series.size(), 0) {
    for (const store::Series &one : series) {
      Tags tags;
      for (const std::string &key : group_by)
        if (const auto found = one.tags.find(key); found != one.tags.end()) tags.insert(*found);
      UsageGroup &group = groups[{one.metric, tags}];
      group.usage.tags = tags;
      group.usage.metric = one.metric;
      const store::MetricInfo *info = one.kind() == store::Kind::unknown ? undeclared : one.info.get();
      group.usage.unit = info != nullptr ? info->unit : "";
      group.kind = info != nullptr ? info->kind : store::Kind::unknown;
      IntegralUnit integral = integral_unit(one.metric, info);
      group.usage.sum_unit = std::move(integral.name);
      group.per_second = integral.per_second;
      of_series_.push_back(&group);
      const auto *collected = &collection.collected_time_of(store::tag_of(one.tags, "host"), store::family_of(one.metric));
      host_sums_.push_back(&*group.hosts.try_emplace(collected, 0).first);
    }
  }

  void points(size_t series, const store::Points &points) override {
    if (of_series_[series]->kind == store::Kind::total) return add_total(series, points);
    for (size_t i = 0; i < points.times_ns.size(); ++i) add(series, {points.times_ns[i], points.durations_ns[i], points.values[i]});
    budget_.check_time();
  }

  void rolled(size_t series, const store::Summary &summary, const store::Points &plain) override {
    const store::Kind kind = of_series_[series]->kind;
    if (kind == store::Kind::total) return add_total(series, plain);
    const bool is_amount = kind == store::Kind::delta;
    if (is_amount && plain.durations_ns.front() <= 0) return points(series, plain);
    for_each_held(summary, plain, is_amount, [&](const ValueWindow &held) { add(series, held); });
  }

 private:
  void add(size_t series, const ValueWindow &sample) {
    // An amount without a window has been counted somewhere else, and is whole.
    const bool whole = sample.duration_ns <= 0 && of_series_[series]->kind == store::Kind::delta;
    if (whole) add_held(series, {sample.time_ns, 1, sample.value});
    holds_[series].add(sample.time_ns, sample.duration_ns, sample.value, [&](const ValueWindow &held) {
      if (!is_counted(series, sample, held)) return;
      if (whole)
        cover(*of_series_[series], held);
      else
        add_held(series, held);
    });
  }
  bool is_counted(size_t series, const ValueWindow &sample, const ValueWindow &held) const {
    return sample.duration_ns > 0 ||
           host_sums_[series]->first->counts(core::start_of(held.time_ns, held.duration_ns), held.time_ns);
  }
  void add_held(size_t series, const ValueWindow &held) {
    UsageGroup &group = *of_series_[series];
    const int64_t begin = core::start_of(held.time_ns, held.duration_ns);
    const double inside = overlap(begin, held.time_ns);
    if (inside <= 0) return;
    const bool delta = group.kind == store::Kind::delta;
    add_sum(series, held.value * inside / (delta ? static_cast<double>(held.duration_ns) : 1e9));
    cover(group, held);
    // An amount is that of its window, not a value at each time of it.
    if (delta)
      group.levels.add(held.time_ns - 1, held.time_ns, held.value, budget_);
    else
      group.levels.add(std::max(begin, range_.from_ns), std::min(held.time_ns, range_.to_ns), held.value, budget_);
  }
  void add_sum(size_t series, double sum) {
    of_series_[series]->usage.sum += sum;
    host_sums_[series]->second += sum;
  }
  void cover(UsageGroup &group, const ValueWindow &held) const {
    group.usage.covered.add(std::max(core::start_of(held.time_ns, held.duration_ns), range_.from_ns),
                            std::min(held.time_ns, range_.to_ns));
  }
  // A decrease is a reset: that change is unknown.
  void add_total(size_t series, const store::Points &points) {
    UsageGroup &group = *of_series_[series];
    for (size_t i = 0; i < points.times_ns.size(); ++i) {
      const int64_t time = points.times_ns[i], before = std::exchange(last_[series], time);
      const double value = points.values[i], change = value - std::exchange(last_values_[series], value);
      const double inside = overlap(before, time);
      if (before == 0 || time <= before || change < 0 || inside <= 0) continue;
      add_sum(series, change * inside / static_cast<double>(time - before));
      group.usage.covered.add(std::max(before, range_.from_ns), std::min(time, range_.to_ns));
      group.levels.add(time - 1, time, value, budget_);
    }
    budget_.check_time();
  }
  double overlap(int64_t begin, int64_t end) const {
    return static_cast<double>(std::min(end, range_.to_ns) - std::max(begin, range_.from_ns));
  }

  const Range range_;
  Budget &budget_;
  std::vector<UsageGroup *> of_series_;
  std::vector<std::pair<const store::CollectedTime *const, double> *> host_sums_;  // of each series
  std::vector<ValueWindows> holds_;
  std::vector<int64_t> last_;  // of totals: the point before
  std::vector<double> last_values_;
};

// Windows of the group were collected, whatever is known of the others.
void set_average(const Range &range, UsageGroup &group) {
  std::vector<const store::CollectedTime *> hosts;
  const bool is_one = group.hosts.size() == 1;
  for (const auto &[collected, sum] : group.hosts) {
    const int64_t collected_ns = collected->length_in(range.from_ns, range.to_ns);
    if (sum == 0 && !is_one && collected_ns == 0) continue;
    hosts.push_back(collected);
    const int64_t windows_ns = is_one || collected->time_intervals().empty() ? group.usage.covered.length_ns() : 0;
    const int64_t length_ns = std::max(collected_ns, windows_ns);
    if (length_ns > 0) group.usage.average += sum / (static_cast<double>(length_ns) / 1e9);
  }
  group.usage.coverage = collected_part(hosts, range);
}

// Moves the usages of complete groups.
void take_usages(const Range &range, UsageGroups &groups, std::vector<Usage> &usages, Budget &budget) {
  for (auto &[key, group] : groups) {
    if (group.levels.empty()) continue;
    budget.release(group.levels.size());
    budget.reserve(kPointsAUsage);
    Usage &usage = group.usage;
    set_average(range, group);
    usage.amount = usage.sum;
    usage.sum *= group.per_second;
    usage.min = group.levels.min();
    usage.max = group.levels.max();
    usages.push_back(std::move(usage));
  }
  groups.clear();
}

// The series by group, some groups in each part: memory does not grow with the number of groups.
std::vector<std::vector<store::Series>> parts_of(std::vector<store::Series> series, const std::vector<std::string> &group_by) {
  std::map<std::vector<std::string>, std::vector<store::Series>> groups;
  for (store::Series &one : series) {
    std::vector<std::string> key = {one.metric};
    for (const std::string &name : group_by) key.push_back(store::tag_of(one.tags, name));
    groups[std::move(key)].push_back(std::move(one));
  }
  std::vector<std::vector<store::Series>> parts(1);
  size_t count = 0;
  for (auto &[key, members] : groups) {
    if (count++ % kGroupsAPart == 0 && count > 1) parts.emplace_back();
    std::move(members.begin(), members.end(), std::back_inserter(parts.back()));
  }
  return parts;
}

}  // namespace

bool is_per_core(std::string_view metric, const store::MetricInfo &info) {
  return info.unit == "%" && metric.find(".cpu.") != std::string_view::npos && metric.find("pressure") == std::string_view::npos;
}

IntegralUnit integral_unit(std::string_view metric, const store::MetricInfo *info) {
  if (info == nullptr || info->kind == store::Kind::unknown) return {"value-seconds", 1};
  const bool is_amount = info->kind == store::Kind::delta || info->kind == store::Kind::total;
  if (is_amount) return {info->unit == "1" ? "1" : io::shown_unit(info->unit), 1};
  if (is_per_core(metric, *info)) return {"core-seconds", 0.01};
  if (info->unit == "%") return {"%-hours", 1.0 / 3600};
  if (info->unit == "{core}") return {"core-seconds", 1};
  if (info->unit == "MiBy") return {"MiB-hours", 1.0 / 3600};
  const std::string amount = io::without_per_second(info->unit);
  if (amount.empty()) return {"value-seconds", 1};
  return {amount == "1" ? "1" : io::shown_unit(amount), 1};
}

std::vector<Usage> usage_of(const std::vector<std::string> &metrics, const std::vector<store::TagFilter> &tags,
                            const std::vector<std::string> &group_by, const Range &range, store::Store &store, Budget &budget,
                            const store::MetricInfo *undeclared) {
  // Windows that began in the range may end after it, and an instant needs the sample before.
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min() + kMaxWindow;
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max() - kMaxWindow;
  const Range wider{std::max(range.from_ns, kFirst) - kMaxWindow, std::min(range.to_ns, kLast) + kMaxWindow};
  Query query;
  query.metrics = metrics;
  query.tags = tags;
  query.range = wider;
  const store::Collection collection(store.collected(range));
  const bool by_pid = std::find(group_by.begin(), group_by.end(), "pid") != group_by.end();
  UsageGroups groups;
  std::vector<Usage> usages;
  read_in_parts(query, [&](const Query &some, bool is_part) {
    for (const std::vector<store::Series> &series : parts_of(selected(some, store, budget), group_by)) {
      Integrals integrals(series, group_by, range, collection, budget, undeclared, groups);
      store.scan(series, wider, integrals);
      if (by_pid || !is_part) take_usages(range, groups, usages, budget);
    }
  });
  take_usages(range, groups, usages, budget);
  budget.release(kPointsAUsage * usages.size());
  std::stable_sort(usages.begin(), usages.end(), [](const Usage &a, const Usage &b) {
    return std::tuple(std::string_view(a.metric), -a.sum) < std::tuple(std::string_view(b.metric), -b.sum);
  });
  return usages;
}

}  // namespace atalaya::query
