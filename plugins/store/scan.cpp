// SPDX-License-Identifier: Apache-2.0
#include "plugins/store/scan.h"

#include <algorithm>
#include <string>

namespace atalaya::store {
namespace {

constexpr size_t kEntitiesAtOnce = 64;
constexpr int64_t kGap = 16;             // rather step over so many entities that are not wanted than seek
constexpr size_t kBuffered = 256 << 10;  // points

}  // namespace

Scan::Scan(Database &database, std::span<const Series> series, const Range &range, PointVisitor &visitor)
    : series_(series),
      range_(range),
      visitor_(visitor),
      rows_(database,
            "SELECT w.time_ns, w.duration_ns, s.entity, s.fields, w.id FROM windows w CROSS JOIN samples s "
            "ON s.window = w.id AND s.entity BETWEEN ?1 AND ?2 "
            "WHERE w.packed = 0 AND w.time_ns > ?3 AND w.time_ns <= ?4 ORDER BY w.time_ns, w.duration_ns") {}

void Scan::run() {
  Group all;
  for (size_t i = 0; i < series_.size(); ++i) {
    const int64_t metric = series_[i].metric_id;
    if (metric < 0) continue;
    all[series_[i].entity].push_back({metric, i, {}});
    if (static_cast<size_t>(metric) >= metrics_.size()) metrics_.resize(static_cast<size_t>(metric) + 1);
    metrics_[static_cast<size_t>(metric)] = true;
  }
  while (!all.empty()) {
    Group group;
    do {
      group.insert(all.extract(all.begin()));
    } while (!all.empty() && group.size() < kEntitiesAtOnce && all.begin()->first - group.rbegin()->first <= kGap);
    run_group(group);
  }
}

void Scan::run_group(Group &group) {
  for (auto &[entity, wanted] : group)
    std::sort(wanted.begin(), wanted.end(), [](const Wanted &a, const Wanted &b) { return a.metric < b.metric; });
  Range rest = range_;
  int64_t last_ns = rest.from_ns;
  rows_.each(
      [&](const Row &row) {
        const int64_t time_ns = row.integer(0);
        // Only whole times: of those that windows of several lengths share, each has its part.
        if (buffered_ >= kBuffered && time_ns != last_ns) {
          hand_over(group, {rest.from_ns, last_ns});
          rest.from_ns = last_ns;
        }
        last_ns = time_ns;
        const auto found = group.find(row.integer(2));
        if (found != group.end()) add_row(found->second, time_ns, row.integer(1), row.text(3), row.integer(4));
      },
      group.begin()->first, group.rbegin()->first, range_.from_ns, range_.to_ns);
  hand_over(group, rest);
}

void Scan::add_row(std::vector<Wanted> &wanted, int64_t time_ns, int64_t duration_ns, std::string_view fields, int64_t window) {
  FieldReader reader(fields);
  while (reader.next()) {
    const int64_t metric = reader.metric();
    if (metric < 0 || static_cast<size_t>(metric) >= metrics_.size() || !metrics_[static_cast<size_t>(metric)]) continue;
    auto place = std::lower_bound(wanted.begin(), wanted.end(), metric, [](const Wanted &a, int64_t b) { return a.metric < b; });
    for (; place != wanted.end() && place->metric == metric; ++place) {
      place->rows.add(time_ns, duration_ns, reader.value());
      ++buffered_;
    }
  }
  if (reader.damaged())
    visitor_.damaged("a row of the window " + std::to_string(window) +
                     " in the table samples is no object of numbers; delete that window's rows, or restore the store from a copy");
}

void Scan::hand_over(Group &group, const Range & /*range*/) {
  for (auto &[entity, wanted] : group)
    for (Wanted &one : wanted) {
      hand_over_rows(one, one.rows.size());
      one.rows.clear();
      one.given = 0;
    }
  buffered_ = 0;
}

void Scan::hand_over_rows(Wanted &wanted, size_t end) {
  give(wanted.series, wanted.rows, wanted.given, end);
  wanted.given = end;
}

void Scan::give(size_t series, const SeriesBuffer &points, size_t begin, size_t end) {
  while (begin < end) {
    const bool counts = points.values[begin].is_count;
    size_t stop = begin;
    reals_.clear();
    counts_.clear();
    for (; stop < end && points.values[stop].is_count == counts; ++stop) {
      reals_.push_back(points.values[stop].as_real());
      if (counts) counts_.push_back(points.values[stop].count);
    }
    const size_t size = stop - begin;
    visitor_.points(series, {std::span(points.times_ns).subspan(begin, size), std::span(points.durations_ns).subspan(begin, size),
                             reals_, counts_});
    begin = stop;
  }
}

}  // namespace atalaya::store
