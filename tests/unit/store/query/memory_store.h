// SPDX-License-Identifier: Apache-2.0
// A store that is a list of series, as plain as possible: the reference for the engine.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plugins/shared/io/match/matcher.h"
#include "plugins/shared/store/query/types.h"
#include "plugins/shared/store/store.h"
#include "tests/unit/store/query/usual_metrics.h"

namespace atalaya::query::test {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kDay = 86'400 * kSecond;
constexpr int64_t kT0 = 1'700'000'000 * kSecond - 1'700'000'000 * kSecond % (3600 * kSecond);

// Points by seconds after kT0.
using Values = std::vector<std::pair<int, double>>;

class MemoryStore : public store::Store {
 public:
  void add(const std::string &metric, const Tags &tags, const Values &values) {
    Kept kept;
    for (const auto &[second, value] : values) kept.points.push_back({kT0 + second * kSecond, value});
    const auto declared = declared_.find(metric);
    kept.series = {static_cast<int64_t>(all_.size()), 0, metric, tags, declared == declared_.end() ? nullptr : declared->second};
    all_.push_back(std::move(kept));
  }
  void add_counts(const std::string &metric, const Tags &tags, const std::vector<std::pair<int, int64_t>> &values) {
    Values reals;
    for (const auto &[second, count] : values) reals.emplace_back(second, static_cast<double>(count));
    add(metric, tags, reals);
    for (const auto &[second, count] : values) all_.back().counts.push_back(count);
  }
  // Windows by their end and length, in seconds; an instant has no length.
  struct Window {
    int end, length;
    double value;
  };
  void add_windows(const std::string &metric, const Tags &tags, const std::vector<Window> &windows) {
    Values values;
    for (const Window &window : windows) values.emplace_back(window.end, window.value);
    add(metric, tags, values);
    for (const Window &window : windows) all_.back().durations_ns.push_back(window.length * kSecond);
  }
  size_t block = 3;        // points a call
  bool summarize = false;  // hand out summaries, too
  int64_t duration_ns = kSecond;

  struct Kept {
    store::Series series;
    std::vector<Point> points;
    std::vector<int64_t> counts;        // all of them, or none
    std::vector<int64_t> durations_ns;  // all of them, or none
  };
  const std::vector<Kept> &all() const { return all_; }

  std::string name() const override { return "memory"; }
  std::vector<std::string> metrics() override {
    std::vector<std::string> names;
    for (const Kept &kept : all_) names.push_back(kept.series.metric);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }
  store::Catalogue catalogue() override {
    store::Catalogue all;
    for (const Kept &kept : all_)
      all.try_emplace(kept.series.metric, kept.series.info ? kept.series.info : std::make_shared<const store::MetricInfo>());
    return all;
  }
  // Declares a metric before its series are added.
  void declare(const std::string &metric, store::Kind kind, const std::string &unit, const std::string &summary = "") {
    declared_[metric] = std::make_shared<const store::MetricInfo>(store::MetricInfo{kind, -1, unit, summary});
  }
  std::vector<std::string> tag_keys() override { return {}; }
  std::vector<std::string> tag_values(std::string_view) override { return {}; }

  std::optional<store::Range> extent(int64_t until_ns) override {
    std::optional<store::Range> found;
    for (const Kept &kept : all_)
      for (const Point &point : kept.points) {
        if (point.time_ns > until_ns) continue;
        if (!found) found = store::Range{point.time_ns - 1, point.time_ns};
        found = store::Range{std::min(found->from_ns, point.time_ns - 1), std::max(found->to_ns, point.time_ns)};
      }
    return found;
  }
  bool always_collected = true;  // false: by the windows of all series of a family and host, and nothing else
  std::vector<store::CollectedRow> collected(const store::Range &) override {
    if (always_collected) return always();
    std::map<std::pair<std::string, std::string>, std::vector<std::pair<int64_t, int64_t>>> windows;
    for (const Kept &kept : all_) {
      const auto host = kept.series.tags.find("host");
      auto &own = windows[{host == kept.series.tags.end() ? "" : host->second, std::string(store::family_of(kept.series.metric))}];
      for (size_t i = 0; i < kept.points.size(); ++i)
        own.emplace_back(kept.points[i].time_ns, kept.durations_ns.empty() ? duration_ns : kept.durations_ns[i]);
    }
    std::vector<store::CollectedRow> rows;
    for (auto &[key, own] : windows) {
      std::sort(own.begin(), own.end());
      store::CollectedRows united(key.first, key.second);
      for (const auto &[time_ns, length_ns] : own) united.add(time_ns, length_ns);
      rows.insert(rows.end(), united.windows().begin(), united.windows().end());
      rows.insert(rows.end(), united.instants().begin(), united.instants().end());
    }
    return rows;
  }
  std::vector<store::Series> series(const store::Selection &selection, size_t limit) override {
    std::vector<store::Series> found;
    const auto metrics = io::MatcherList::parse(selection.metrics).value();
    for (const Kept &kept : all_)
      if (found.size() < limit && metrics.matches(kept.series.metric) && fits(kept.series.tags, selection.tags))
        found.push_back(kept.series);
    return found;
  }

  void scan(std::span<const store::Series> series, const Range &range, store::PointVisitor &visitor) override {
    std::vector<std::vector<Point>> left(series.size());
    std::vector<std::vector<int64_t>> counts(series.size()), durations(series.size());
    for (size_t i = 0; i < series.size(); ++i) {
      const Kept &kept = all_[static_cast<size_t>(series[i].entity)];
      for (size_t p = 0; p < kept.points.size(); ++p) {
        if (kept.points[p].time_ns <= range.from_ns || kept.points[p].time_ns > range.to_ns) continue;
        left[i].push_back(kept.points[p]);
        if (!kept.counts.empty()) counts[i].push_back(kept.counts[p]);
        durations[i].push_back(kept.durations_ns.empty() ? duration_ns : kept.durations_ns[p]);
      }
    }
    for (bool any = true; any;) {
      any = false;
      for (size_t i = 0; i < series.size(); ++i) any = hand_on(i, left[i], counts[i], durations[i], visitor) || any;
    }
  }
  void whole_stacks(const store::Selection &, const std::function<void(const store::Stack &)> &) override {}
  void spans(const store::Selection &, const std::function<void(const store::Span &)> &) override {}

 protected:
  static bool fits(const Tags &tags, const std::vector<store::TagFilter> &filters) {
    return std::all_of(filters.begin(), filters.end(), [&](const store::TagFilter &filter) {
      const auto matchers = io::MatcherList::parse(filter.patterns).value();
      const auto tag = tags.find(filter.key);
      return tag == tags.end() ? matchers.matches_absent() : matchers.matches(tag->second);
    });
  }

 private:
  std::vector<store::CollectedRow> always() const {
    std::set<std::string> hosts;
    for (const Kept &kept : all_) {
      const auto host = kept.series.tags.find("host");
      hosts.insert(host == kept.series.tags.end() ? "" : host->second);
    }
    std::vector<store::CollectedRow> rows;
    for (const std::string &host : hosts) rows.push_back({host, store::kAnyFamily, kT0 - 100 * kDay, kT0 + 100 * kDay, 0, false});
    return rows;
  }
  bool hand_on(size_t i, std::vector<Point> &left, std::vector<int64_t> &counts, std::vector<int64_t> &lengths,
               store::PointVisitor &visitor) const {
    const size_t count = std::min(block, left.size());
    if (count == 0) return false;
    const auto end = lengths.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<int64_t> times, durations(lengths.begin(), end);
    lengths.erase(lengths.begin(), end);
    std::vector<double> values;
    store::Summary summary{static_cast<int64_t>(count), left.front().time_ns, left[count - 1].time_ns, 0,
                           left.front().value,          left.front().value,   left.front().value,      left[count - 1].value};
    for (size_t p = 0; p < count; ++p) {
      times.push_back(left[p].time_ns);
      values.push_back(left[p].value);
      summary.sum += left[p].value;
      summary.min = std::min(summary.min, left[p].value);
      summary.max = std::max(summary.max, left[p].value);
    }
    if (!summarize || !visitor.take(i, summary))
      visitor.points(i, {times, durations, values, std::span(counts).first(std::min(count, counts.size()))});
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(count));
    if (!counts.empty()) counts.erase(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(count));
    return true;
  }

  std::vector<Kept> all_;
  store::Catalogue declared_ = usual_metrics();
};

// "0:10 10:20 20:nan": seconds after kT0 and values.
inline std::string shown(const std::vector<Point> &points) {
  std::string text;
  for (const Point &point : points) {
    char piece[64];
    std::snprintf(piece, sizeof piece, "%s%g:%g", text.empty() ? "" : " ", static_cast<double>(point.time_ns - kT0) / 1e9,
                  point.value);
    text += piece;
  }
  return text;
}

inline Query all_of(const std::string &metric, const std::string &aggregator = "zimsum") {
  Query query;
  query.metrics = {metric};
  query.range = {kT0 - 1, kT0 + 3600 * kSecond};
  query.group = aggregator != "none";
  if (query.group) query.aggregator = *Aggregator::find(aggregator);
  return query;
}

}  // namespace atalaya::query::test
