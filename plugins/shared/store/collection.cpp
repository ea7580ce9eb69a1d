// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/collection.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <utility>

#include "core/base/sample/span_end.h"

namespace atalaya::store {
namespace {

using TimeInterval = CollectedTime::TimeInterval;

// Families of things that come and go: without a sample there was none of them, while the host was collected.
constexpr std::array<std::string_view, 2> kComeAndGo = {"flow", "jvm"};

int64_t shorter(int64_t a_ns, int64_t b_ns) {
  if (a_ns <= 0 || b_ns <= 0) return std::max(a_ns, b_ns);
  return std::min(a_ns, b_ns);
}

// Windows last as long as between two readings, which are some milliseconds late: the end of one is not exactly the begin of the
// next one.
int64_t jitter_of(int64_t step_ns) {
  return std::min(step_ns / 16, kMaxJitter);
}

TimeInterval stretch_of(const CollectedRow &row) {
  // The first instant holds as long as the second one.
  const int64_t before_ns = row.instants && row.end_ns > row.begin_ns ? row.step_ns : 0;
  return {core::start_of(row.begin_ns, before_ns), row.end_ns, row.instants ? 0 : row.step_ns, 0};
}

struct HostRows {
  std::map<std::string, std::vector<const CollectedRow *>, std::less<>> families;
  CollectedTime all;  // of any family
};

// The rows of one family by time.
class FamilyRows {
 public:
  explicit FamilyRows(const std::vector<const CollectedRow *> &rows) {
    for (const CollectedRow *row : rows) (row->instants ? instants_ : windows_).push_back(row);
    const auto by_begin = [](const CollectedRow *a, const CollectedRow *b) { return a->begin_ns < b->begin_ns; };
    std::sort(windows_.begin(), windows_.end(), by_begin);
    std::sort(instants_.begin(), instants_.end(), by_begin);
    for (const CollectedRow *row : instants_)
      ends_ns_.push_back(ends_ns_.empty() ? row->end_ns : std::max(ends_ns_.back(), row->end_ns));
  }

  const std::vector<const CollectedRow *> &windows() const { return windows_; }
  // The readings of a start, before its first window, cover no time.
  bool is_start(const CollectedRow &row) const {
    const auto next = std::lower_bound(windows_.begin(), windows_.end(), row.end_ns,
                                       [](const CollectedRow *window, int64_t time_ns) { return window->begin_ns < time_ns; });
    return row.instants && next != windows_.end() && (*next)->begin_ns - row.end_ns <= kLongestHold;
  }
  // An instant between two windows shows that the collection stopped and began again.
  bool began_in(int64_t begin_ns, int64_t end_ns) const {
    const auto after = std::upper_bound(instants_.begin(), instants_.end(), end_ns,
                                        [](int64_t time_ns, const CollectedRow *instant) { return time_ns < instant->begin_ns; });
    return after != instants_.begin() && ends_ns_[static_cast<size_t>(after - instants_.begin()) - 1] > begin_ns;
  }
  void add_known(const std::vector<const CollectedRow *> &rows, std::vector<TimeInterval> &time_intervals) const {
    for (const CollectedRow *row : rows)
      if (row->end_ns > row->begin_ns && !is_start(*row)) time_intervals.push_back(stretch_of(*row));
  }

 private:
  std::vector<const CollectedRow *> windows_, instants_;
  std::vector<int64_t> ends_ns_;  // the latest end of the instants up to each
};

CollectedTime united(const HostRows &host) {
  std::vector<TimeInterval> time_intervals;
  for (const auto &[family, rows] : host.families) FamilyRows(rows).add_known(rows, time_intervals);
  return CollectedTime(std::move(time_intervals));
}

bool is_collected(const CollectedTime &time, int64_t begin_ns, int64_t end_ns) {
  return time.length_in(begin_ns, end_ns) == end_ns - begin_ns;
}

// Windows without a sample of the family: the host was collected all the time between two others.
void add_empty_windows(const FamilyRows &rows, const CollectedTime &host, std::vector<TimeInterval> &time_intervals) {
  const std::vector<const CollectedRow *> &windows = rows.windows();
  for (size_t i = 1; i < windows.size(); ++i) {
    const int64_t begin_ns = windows[i - 1]->end_ns, end_ns = windows[i]->begin_ns;
    if (begin_ns >= end_ns || rows.began_in(begin_ns, end_ns) || !is_collected(host, begin_ns, end_ns)) continue;
    time_intervals.push_back({begin_ns, end_ns, shorter(windows[i - 1]->step_ns, windows[i]->step_ns), 0});
  }
}

void add_runs(const CollectedTime &host, std::vector<TimeInterval> &time_intervals) {
  const CollectedTime own(time_intervals);
  for (const TimeInterval &run : host.time_intervals())
    if (own.length_in(run.begin_ns, run.end_ns) > 0) time_intervals.push_back(run);
}

CollectedTime time_of(std::string_view family, const HostRows &host) {
  const auto &rows = host.families.find(family)->second;
  std::vector<TimeInterval> time_intervals;
  const FamilyRows by_time(rows);
  by_time.add_known(rows, time_intervals);
  add_empty_windows(by_time, host.all, time_intervals);
  if (const auto any = host.families.find(kAnyFamily); any != host.families.end())
    for (const CollectedRow *row : any->second) time_intervals.push_back(stretch_of(*row));
  if (std::find(kComeAndGo.begin(), kComeAndGo.end(), family) != kComeAndGo.end()) add_runs(host.all, time_intervals);
  return CollectedTime(std::move(time_intervals));
}

}  // namespace

bool CollectedRows::has_window_between(const CollectedRow &row, const CollectedRow &next) const {
  const auto first =
      std::upper_bound(windows_.begin(), windows_.end(), row.end_ns, [this](int64_t time_ns, const CollectedRow &window) {
        ++comparisons_;
        return time_ns < window.end_ns;
      });
  return first != windows_.end() && first->begin_ns < next.begin_ns;
}

bool CollectedRows::joins(const CollectedRow &row, const CollectedRow &next) const {
  ++comparisons_;
  const int64_t gap_ns = next.begin_ns - row.end_ns;
  if (!row.instants) return gap_ns <= jitter_of(shorter(row.step_ns, next.step_ns));
  return gap_ns <= kLongestHold && (gap_ns <= 0 || !has_window_between(row, next));
}

bool CollectedRows::extend(CollectedRow &row, const CollectedRow &next) const {
  if (!joins(row, next)) return false;
  const int64_t gap_ns = row.instants ? next.begin_ns - row.end_ns : 0;
  row.step_ns = shorter(shorter(row.step_ns, next.step_ns), gap_ns);
  row.end_ns = std::max(row.end_ns, next.end_ns);
  return true;
}

void CollectedRows::add(const CollectedRow &row) {
  std::vector<CollectedRow> &rows = row.instants ? instants_ : windows_;
  // Most windows follow the last one.
  if (!row.instants && !rows.empty() && row.begin_ns >= rows.back().begin_ns && extend(rows.back(), row)) return;
  rows.push_back(row);
  is_merged_ = false;
}

void CollectedRows::sort(std::vector<CollectedRow> &rows) const {
  std::sort(rows.begin(), rows.end(), [this](const CollectedRow &a, const CollectedRow &b) {
    ++comparisons_;
    return std::tie(a.begin_ns, a.end_ns) < std::tie(b.begin_ns, b.end_ns);
  });
  size_t last = 0;
  for (size_t i = 1; i < rows.size(); ++i)
    if (!extend(rows[last], rows[i]) && ++last != i) rows[last] = std::move(rows[i]);
  if (!rows.empty()) rows.resize(last + 1);
}

void CollectedRows::merge_pending() const {
  if (std::exchange(is_merged_, true)) return;
  sort(windows_);
  sort(instants_);
}

void CollectedRows::add(int64_t time_ns, int64_t duration_ns) {
  add(CollectedRow{host_, family_, core::start_of(time_ns, duration_ns), time_ns, std::max<int64_t>(duration_ns, 0),
                   duration_ns <= 0});
}

CollectedTime::CollectedTime(std::vector<TimeInterval> time_intervals) {
  std::sort(time_intervals.begin(), time_intervals.end(),
            [](const TimeInterval &a, const TimeInterval &b) { return a.begin_ns < b.begin_ns; });
  for (const TimeInterval &one : time_intervals) {
    has_windows_ = has_windows_ || one.step_ns > 0;
    if (!time_intervals_.empty() &&
        one.begin_ns <= time_intervals_.back().end_ns + jitter_of(shorter(one.step_ns, time_intervals_.back().step_ns))) {
      TimeInterval &last = time_intervals_.back();
      last.end_ns = std::max(last.end_ns, one.end_ns);
      last.step_ns = shorter(last.step_ns, one.step_ns);
    } else {
      time_intervals_.push_back(one);
    }
  }
  int64_t before_ns = 0;
  for (TimeInterval &one : time_intervals_) {
    one.before_ns = before_ns;
    before_ns += one.end_ns - one.begin_ns;
  }
}

int64_t CollectedTime::length_until(int64_t time_ns) const {
  const auto next = std::upper_bound(time_intervals_.begin(), time_intervals_.end(), time_ns,
                                     [](int64_t time, const TimeInterval &one) { return time < one.begin_ns; });
  if (next == time_intervals_.begin()) return 0;
  const TimeInterval &last = *std::prev(next);
  return last.before_ns + std::min(time_ns, last.end_ns) - last.begin_ns;
}

int64_t CollectedTime::length_in(int64_t begin_ns, int64_t end_ns) const {
  return begin_ns < end_ns ? length_until(end_ns) - length_until(begin_ns) : 0;
}

Collection::Collection(const std::vector<CollectedRow> &rows) {
  std::map<std::string_view, HostRows> hosts;
  for (const CollectedRow &row : rows) hosts[row.host].families[row.family].push_back(&row);
  for (auto &[name, host] : hosts) {
    host.all = united(host);
    Families &families = hosts_[std::string(name)];
    for (const auto &[family, own] : host.families) families.emplace(family, time_of(family, host));
  }
}

const CollectedTime &Collection::collected_time_of(std::string_view host, std::string_view family) const {
  static const CollectedTime kUnknown;
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return kUnknown;
  auto own = found->second.find(family);
  if (own == found->second.end()) own = found->second.find(kAnyFamily);
  return own == found->second.end() ? kUnknown : own->second;
}

}  // namespace atalaya::store
