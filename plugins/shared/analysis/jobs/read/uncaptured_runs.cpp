// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/read/uncaptured_runs.h"

#include <algorithm>
#include <exception>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/analysis/jobs/reasons/hosts.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::jobs {
namespace {

class UncapturedRuns final : public store::PointVisitor {
 public:
  UncapturedRuns(store::Store &store, query::Budget &budget) : store_(store), budget_(budget) {}

  void read(store::Selection selection) {
    selection.metrics = {"region.short", "region.dropped"};
    const size_t maximum = budget_.limits().series;
    series_ = store_.series(selection, maximum + 1);
    if (series_.size() > maximum) throw query::TooMuch("more than " + std::to_string(maximum) + " series count them");
    if (hosts_ != nullptr) leave_out_unclear_hosts();
    if (!series_.empty()) store_.scan(series_, selection.range, *this);  // most stores have no regions
  }

  // Data without a job belongs to the jobs that ran on the host at that time.
  void read(store::Selection selection, const JobHosts &hosts) {
    hosts.select(selection);
    hosts_ = &hosts;
    read(std::move(selection));
  }

  bool take(size_t, const store::Summary &summary) override {
    budget_.work(1);
    return !(summary.max > 0);
  }
  void points(size_t series, const store::Points &points) override {
    budget_.work(points.times_ns.size());
    for (size_t i = 0; i < points.times_ns.size(); ++i) {
      int64_t begin_ns = 0;
      if (!(points.values[i] > 0) || __builtin_sub_overflow(points.times_ns[i], points.durations_ns[i], &begin_ns)) continue;
      add(series, begin_ns, points.times_ns[i]);
    }
  }
  // The point is at the end of its step, which may be long after its windows.
  void rolled(size_t series, const store::Summary &summary, const store::Points &) override {
    budget_.work(1);
    if (summary.max > 0) add(series, summary.first_ns, summary.last_ns);
  }

  const std::set<std::string, std::less<>> &names() const { return names_; }

 private:
  void leave_out_unclear_hosts() {
    std::set<std::string> stored;
    for (const store::Series &one : series_) stored.emplace(tag_of(one.tags, "host"));
    const SameHosts same(hosts_->names(), stored);
    std::erase_if(series_, [&](const store::Series &one) { return same.span_host_of(tag_of(one.tags, "host")) == nullptr; });
  }

  void add(size_t series, int64_t begin_ns, int64_t end_ns) {
    const store::Tags &tags = series_[series].tags;
    if (hosts_ != nullptr && !ran(hosts_->times_of(tag_of(tags, "host")), begin_ns, end_ns)) return;
    if (const std::string_view name = tag_of(tags, "name"); !name.empty() && !names_.contains(name)) names_.emplace(name);
  }

  static bool ran(const JobTimes *times, int64_t begin_ns, int64_t end_ns) {
    return times != nullptr && std::any_of(times->begin(), times->end(),
                                           [&](const JobTime &time) { return end_ns > time.begin_ns && begin_ns < time.end_ns; });
  }

  store::Store &store_;
  query::Budget &budget_;
  const JobHosts *hosts_ = nullptr;    // nullptr: all hosts and times
  std::vector<store::Series> series_;  // the series to read
  std::set<std::string, std::less<>> names_;
};

std::string note_on(const std::set<std::string, std::less<>> &names) {
  constexpr size_t kMaxListed = 3;
  std::string list;
  size_t count = 0;
  for (const std::string &name : names)
    if (++count <= kMaxListed) list += (list.empty() ? "" : ", ") + core::in_quotes(name);
  if (count > kMaxListed) list += " and " + std::to_string(count - kMaxListed) + " more";
  return "code regions " + list +
         " had runs that were too short or too many to be spans (region.short, region.dropped): their cost is higher than shown; "
         "region.time includes them";
}

}  // namespace

void add_note_on_uncaptured_runs(JobData &data, const std::vector<std::string> &ids, const JobHosts *hosts,
                                 const store::Selection &selection, store::Store &store, query::Budget &budget) {
  store::Selection of_jobs = selection;
  if (!ids.empty()) {
    store::TagFilter jobs{"job", {}};
    for (const std::string &id : ids) jobs.patterns.push_back(query::exact_pattern(id));
    of_jobs.tags.push_back(std::move(jobs));
  }
  query::Budget part = budget.half();
  UncapturedRuns uncaptured(store, part);
  const auto unknown = [&](const std::exception &error) {
    data.notes.push_back(std::string("cannot determine whether code regions had runs without spans: ") + error.what());
  };
  try {
    uncaptured.read(std::move(of_jobs));
    if (hosts != nullptr) uncaptured.read(selection, *hosts);
  } catch (const query::TooMuch &much) {
    return unknown(much);
  } catch (const store::Error &error) {
    return unknown(error);
  }
  if (!uncaptured.names().empty()) data.notes.push_back(note_on(uncaptured.names()));
}

}  // namespace atalaya::jobs
