// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/query/usage.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "plugins/shared/analysis/query/engine.h"
#include "plugins/shared/store/metric_info.h"

namespace atalaya::query {
namespace {

constexpr int64_t kLongestWindow = 300'000'000'000;

struct Group {
  Usage usage;
  std::map<int64_t, double> at;  // its value at each time
};

class Integrals : public store::PointVisitor {
 public:
  Integrals(const std::vector<store::Series> &series, const std::vector<std::string> &group_by, const Range &range, Budget &budget)
      : series_(series), range_(range), budget_(budget), last_(series.size(), 0) {
    for (const store::Series &one : series) {
      Tags tags;
      for (const std::string &key : group_by)
        if (const auto found = one.tags.find(key); found != one.tags.end()) tags.insert(*found);
      Group &group = groups_[{one.metric, tags}];
      group.usage.tags = tags;
      group.usage.metric = one.metric;
      of_series_.push_back(&group);
    }
  }

  void points(size_t series, const store::Points &points) override {
    for (size_t i = 0; i < points.times_ns.size(); ++i) {
      const int64_t time = points.times_ns[i], duration = points.durations_ns[i];
      add(series, time, length_of(series, time, duration), duration == 0, points.values[i]);
    }
    budget_.check_time();
  }

  // Samples of an instant stand for as long as lies between them.
  void rolled(size_t series, const store::Summary &summary, const store::Points &plain) override {
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
      usage.sum *= integral_unit(usage.metric).per_second;
      usage.unit = store::metric_info(usage.metric).unit;
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
    Group &group = *of_series_[series];
    const bool delta = store::metric_info(series_[series].metric).kind == store::Kind::delta;
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
  int64_t length_of(size_t series, int64_t time, int64_t duration) const {
    if (duration > 0) return duration;
    return last_[series] == 0 ? 0 : std::min(time - last_[series], kLongestWindow);
  }
  double overlap(int64_t begin, int64_t end) const {
    return static_cast<double>(std::min(end, range_.to_ns) - std::max(begin, range_.from_ns));
  }

  const std::vector<store::Series> &series_;
  const Range range_;
  Budget &budget_;
  std::map<std::pair<std::string, Tags>, Group> groups_;
  std::vector<Group *> of_series_;
  std::vector<int64_t> last_;  // time of the point before
};

}  // namespace

IntegralUnit integral_unit(std::string_view metric) {
  const store::MetricInfo &info = store::metric_info(metric);
  const bool of_cores = metric.find(".cpu.") != std::string_view::npos && metric.find("pressure") == std::string_view::npos;
  if (info.kind == store::Kind::delta) return {info.unit, 1};
  if (info.unit == "%") return of_cores ? IntegralUnit{"core-seconds", 0.01} : IntegralUnit{"%-hours", 1.0 / 3600};
  if (info.unit == "MiB/s") return {"MiB", 1};
  if (info.unit == "Mibit/s") return {"Mibit", 1};
  if (info.unit == "B/s") return {"B", 1};
  if (info.unit == "1/s") return {"1", 1};
  if (info.unit == "ms/s") return {"ms", 1};
  if (info.unit == "MiB") return {"MiB-hours", 1.0 / 3600};
  if (info.unit == "{core}") return {"core-seconds", 1};
  return {"value-seconds", 1};
}

std::vector<Usage> usage_of(const std::vector<std::string> &metrics, const std::vector<store::TagFilter> &tags,
                            const std::vector<std::string> &group_by, const Range &range, store::Store &store, Budget &budget) {
  // Windows that began in the range may end after it, and an instant needs the one before to know for how long it stands.
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min() + kLongestWindow;
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max() - kLongestWindow;
  const Range wider{std::max(range.from_ns, kFirst) - kLongestWindow, std::min(range.to_ns, kLast) + kLongestWindow};
  Query query;
  query.metrics = metrics;
  query.tags = tags;
  query.range = wider;
  const auto series = selected(query, store, budget);
  Integrals integrals(series, group_by, range, budget);
  store.scan(series, wider, integrals);
  return integrals.result();
}

}  // namespace atalaya::query
