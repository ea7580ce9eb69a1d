// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/query/usage.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "plugins/shared/analysis/query/engine.h"
#include "plugins/shared/units/unit_text.h"

namespace atalaya::query {
namespace {

constexpr int64_t kMaxWindow = 300'000'000'000;

struct UsageGroup {
  Usage usage;
  store::Kind kind = store::Kind::unknown;
  double per_second = 1;
  std::map<int64_t, double> at;  // its value at each time
};

class Integrals : public store::PointVisitor {
 public:
  Integrals(const std::vector<store::Series> &series, const std::vector<std::string> &group_by, const Range &range, Budget &budget,
            const store::MetricInfo *undeclared)
      : series_(series), range_(range), budget_(budget), last_(series.size(), 0), last_values_(series.size(), 0) {
    for (const store::Series &one : series) {
      Tags tags;
      for (const std::string &key : group_by)
        if (const auto found = one.tags.find(key); found != one.tags.end()) tags.insert(*found);
      UsageGroup &group = groups_[{one.metric, tags}];
      group.usage.tags = tags;
      group.usage.metric = one.metric;
      const store::MetricInfo *info = one.kind() == store::Kind::unknown ? undeclared : one.info.get();
      group.usage.unit = info != nullptr ? info->unit : "";
      group.kind = info != nullptr ? info->kind : store::Kind::unknown;
      IntegralUnit integral = integral_unit(one.metric, info);
      group.usage.sum_unit = std::move(integral.name);
      group.per_second = integral.per_second;
      of_series_.push_back(&group);
    }
  }

  void points(size_t series, const store::Points &points) override {
    if (of_series_[series]->kind == store::Kind::total) return add_total(series, points);
    for (size_t i = 0; i < points.times_ns.size(); ++i) {
      const int64_t time = points.times_ns[i], duration = points.durations_ns[i];
      add(series, time, length_of(series, time, duration), duration == 0, points.values[i]);
    }
    budget_.check_time();
  }

  // Samples of an instant cover the time between them.
  void rolled(size_t series, const store::Summary &summary, const store::Points &plain) override {
    if (of_series_[series]->kind == store::Kind::total) return add_total(series, plain);
    if (plain.durations_ns.front() > 0 || summary.count < 2) return points(series, plain);
    const int64_t length = (summary.last_ns - summary.first_ns) / (summary.count - 1) * summary.count;
    add(series, plain.times_ns.front(), length, true, plain.values.front());
  }

  std::vector<Usage> result() {
    const double seconds = (static_cast<double>(range_.to_ns) - static_cast<double>(range_.from_ns)) / 1e9;
    std::vector<Usage> usages;
    for (auto &[key, group] : groups_) {
      if (group.at.empty()) continue;
      budget_.release(group.at.size());
      Usage &usage = group.usage;
      usage.average = usage.sum / seconds;
      usage.sum *= group.per_second;
      const auto by_value = [](const auto &a, const auto &b) { return a.second < b.second; };
      usage.min = std::min_element(group.at.begin(), group.at.end(), by_value)->second;
      usage.max = std::max_element(group.at.begin(), group.at.end(), by_value)->second;
      usages.push_back(std::move(usage));
    }
    std::stable_sort(usages.begin(), usages.end(), [](const Usage &a, const Usage &b) {
      return std::tuple(std::string_view(a.metric), -a.sum) < std::tuple(std::string_view(b.metric), -b.sum);
    });
    return usages;
  }

 private:
  void add(size_t series, int64_t time, int64_t length, bool is_instant, double value) {
    UsageGroup &group = *of_series_[series];
    const bool delta = group.kind == store::Kind::delta;
    last_[series] = time;
    // An amount without a window has been counted somewhere else, and is whole.
    const bool whole = delta && is_instant;
    const double inside = whole ? overlap(time - 1, time) : overlap(time - length, time);
    if (inside <= 0) return;
    const double part = whole ? 1 : inside / static_cast<double>(length);
    group.usage.sum += value * (delta ? part : inside / 1e9);
    group.usage.covered.add(std::max(time - length, range_.from_ns), std::min(time, range_.to_ns));
    budget_.hold(group.at.try_emplace(time, 0).second ? 1 : 0);
    group.at[time] += value;
  }
  // A decrease is a reset: that change is unknown.
  void add_total(size_t series, const store::Points &points) {
    UsageGroup &group = *of_series_[series];
    for (size_t i = 0; i < points.times_ns.size(); ++i) {
      const int64_t time = points.times_ns[i], before = std::exchange(last_[series], time);
      const double value = points.values[i], change = value - std::exchange(last_values_[series], value);
      const double inside = overlap(before, time);
      if (before == 0 || time <= before || change < 0 || inside <= 0) continue;
      group.usage.sum += change * inside / static_cast<double>(time - before);
      group.usage.covered.add(std::max(before, range_.from_ns), std::min(time, range_.to_ns));
      budget_.hold(group.at.try_emplace(time, 0).second ? 1 : 0);
      group.at[time] += value;
    }
    budget_.check_time();
  }
  int64_t length_of(size_t series, int64_t time, int64_t duration) const {
    if (duration > 0) return duration;
    return last_[series] == 0 ? 0 : std::min(time - last_[series], kMaxWindow);
  }
  double overlap(int64_t begin, int64_t end) const {
    return static_cast<double>(std::min(end, range_.to_ns) - std::max(begin, range_.from_ns));
  }

  const std::vector<store::Series> &series_;
  const Range range_;
  Budget &budget_;
  std::map<std::pair<std::string, Tags>, UsageGroup> groups_;
  std::vector<UsageGroup *> of_series_;
  std::vector<int64_t> last_;        // time of the point before
  std::vector<double> last_values_;  // of totals
};

}  // namespace

IntegralUnit integral_unit(std::string_view metric, const store::MetricInfo *info) {
  if (info == nullptr || info->kind == store::Kind::unknown) return {"value-seconds", 1};
  const bool is_amount = info->kind == store::Kind::delta || info->kind == store::Kind::total;
  if (is_amount) return {info->unit == "1" ? "1" : core::shown_unit(info->unit), 1};
  const bool of_cores = metric.find(".cpu.") != std::string_view::npos && metric.find("pressure") == std::string_view::npos;
  if (info->unit == "%") return of_cores ? IntegralUnit{"core-seconds", 0.01} : IntegralUnit{"%-hours", 1.0 / 3600};
  if (info->unit == "{core}") return {"core-seconds", 1};
  if (info->unit == "MiBy") return {"MiB-hours", 1.0 / 3600};
  const std::string amount = core::without_per_second(info->unit);
  if (amount.empty()) return {"value-seconds", 1};
  return {amount == "1" ? "1" : core::shown_unit(amount), 1};
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
  const auto series = selected(query, store, budget);
  Integrals integrals(series, group_by, range, budget, undeclared);
  store.scan(series, wider, integrals);
  return integrals.result();
}

}  // namespace atalaya::query
