// SPDX-License-Identifier: Apache-2.0
#include "plugins/bottleneck/counted_runs.h"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "plugins/bottleneck/hosts.h"
#include "plugins/query/pieces.h"

namespace atalaya::bottleneck {
namespace {

constexpr const char *kCalls = "region.calls", *kTime = "region.time";

// Only windows that lie within the time: how much of another one does is not known.
class CountedRuns final : public store::PointVisitor {
 public:
  CountedRuns(Told &told, store::Store &store, query::Budget &budget) : told_(told), store_(store), budget_(budget) {
    for (uint32_t job = 0; job < told.jobs.size(); ++job) jobs_.emplace(told.name(told.jobs[job].id), job);
  }

  // By the jobs that they say.
  void read(const store::Selection &selection) {
    std::vector<store::Series> series = series_of(selection);
    std::erase_if(series, [&](const store::Series &one) { return !job_of(one.tags); });
    targets_.clear();
    for (const store::Series &one : series)
      aim(one, tag_of(one.tags, "host"), {{*job_of(one.tags), selection.range.from_ns, selection.range.to_ns}}, false);
    if (!series.empty()) store_.scan(series, selection.range, *this);  // most stores count no regions
  }

  // What says no job, by the jobs that ran there then.
  void read(store::Selection selection, const JobHosts &hosts) {
    hosts.select(selection);
    std::vector<store::Series> series = series_of(selection);
    std::set<std::string> stored;
    for (const store::Series &one : series) stored.emplace(tag_of(one.tags, "host"));
    const SameHosts same(hosts.names(), stored);
    const auto told_host = [&](const store::Series &one) { return same.told_of(std::string(tag_of(one.tags, "host"))); };
    std::erase_if(series, [&](const store::Series &one) { return told_host(one) == nullptr; });
    targets_.clear();
    for (const store::Series &one : series) aim(one, *told_host(one), *hosts.times_of(*told_host(one)), true);
    if (!series.empty()) store_.scan(series, selection.range, *this);
    for (std::string &note : same.notes("code regions"))
      if (std::find(told_.notes.begin(), told_.notes.end(), note) == told_.notes.end()) told_.notes.push_back(std::move(note));
  }

  void points(size_t series, const store::Points &points) override {
    budget_.work(points.times_ns.size());
    for (size_t i = 0; i < points.times_ns.size(); ++i)
      add(series, points.times_ns[i], points.durations_ns[i], points.times_ns[i], points.values[i]);
  }
  // Their windows are one behind the other in a step.
  void rolled(size_t series, const store::Summary &summary, const store::Points &plain) override {
    budget_.work(1);
    const int64_t of_one = plain.durations_ns.front() / std::max<int64_t>(summary.count, 1);
    add(series, summary.first_ns, of_one, summary.last_ns, plain.values.front());
  }

  // What is left of them without those that spans tell.
  void give() {
    for (const Region &region : told_.regions) {
      const auto counted = counted_.find({region.job, region.name, region.host});
      if (counted == counted_.end()) continue;
      counted->second.runs -= static_cast<double>(region.runs);
      counted->second.seconds -= region.whole_seconds;
    }
    constexpr double kMost = 1e15;  // of foreign numbers
    for (const auto &[key, left] : counted_) {
      if (left.runs < 1) continue;
      const auto runs = static_cast<size_t>(std::min(left.runs, kMost));
      const auto [job, name, host] = key;
      told_.regions.push_back({.job = job, .name = name, .host = host, .runs = runs, .without_span = runs});
      told_.regions.back().seconds = std::max(left.seconds, 0.0);
      if (left.by_host) told_.regions_without_job += runs;
    }
  }

 private:
  struct Counted {
    double runs = 0, seconds = 0;
    bool by_host = false;  // not by the job that it says
  };
  // What a series counts in a job's time.
  struct Aim {
    JobTime time;
    Counted *counted = nullptr;
  };
  struct Target {
    bool is_time = false, by_host = false;
    std::vector<Aim> aims;
  };

  std::vector<store::Series> series_of(const store::Selection &selection) {
    const size_t most = budget_.limits().series;
    std::vector<store::Series> series = store_.series({{kCalls, kTime}, selection.tags, selection.range}, most + 1);
    if (series.size() > most) throw query::TooMuch("more than " + std::to_string(most) + " series count runs of code regions");
    return series;
  }

  // Its place; nothing where no span tells of it.
  std::optional<uint32_t> job_of(const store::Tags &tags) const {
    const std::string_view id = tag_of(tags, "job");
    if (id.empty()) return kNoJob;
    const auto job = jobs_.find(id);
    return job == jobs_.end() ? std::nullopt : std::optional(job->second);
  }

  void aim(const store::Series &series, std::string_view host, const JobTimes &times, bool by_host) {
    Target &target = targets_.emplace_back();
    target.is_time = series.metric == kTime;
    target.by_host = by_host;
    const uint32_t name = told_.names.of(tag_of(series.tags, "name")), host_name = told_.names.of(host);
    for (const JobTime &time : times) {
      const auto [counted, is_new] = counted_.try_emplace({time.job, name, host_name});
      if (is_new) budget_.hold(1);
      target.aims.push_back({time, &counted->second});
    }
  }

  // Of windows that ended from the first to the last of these times, each of them so long.
  void add(size_t series, int64_t first_ns, int64_t length_ns, int64_t last_ns, double value) {
    int64_t begin_ns = 0;
    if (!(value > 0) || __builtin_sub_overflow(first_ns, length_ns, &begin_ns)) return;  // of foreign numbers
    const Target &target = targets_[series];
    for (const Aim &aim : target.aims) {
      if (begin_ns < aim.time.begin_ns || last_ns > aim.time.end_ns) continue;
      aim.counted->by_host = aim.counted->by_host || target.by_host;
      if (target.is_time)
        aim.counted->seconds += value / 1e9;
      else
        aim.counted->runs += value;
    }
  }

  Told &told_;
  store::Store &store_;
  query::Budget &budget_;
  std::map<std::string, uint32_t, std::less<>> jobs_;                    // places by id
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Counted> counted_;  // by job, name and host
  std::vector<Target> targets_;                                          // of the series that are read
};

}  // namespace

void add_counted_runs(Told &told, const std::vector<std::string> &ids, const JobHosts *hosts, const store::Selection &selection,
                      store::Store &store, query::Budget &budget) {
  store::Selection of_jobs = selection;
  if (!ids.empty()) {
    store::TagFilter jobs{"job", {}};
    for (const std::string &id : ids) jobs.patterns.push_back(query::exactly(id));
    of_jobs.tags.push_back(std::move(jobs));
  }
  query::Budget part = budget.half();
  CountedRuns counted(told, store, part);
  const auto without = [&](const std::exception &error) {
    told.notes.push_back(std::string("runs of code regions that are in no span are left out, as these cannot be read: ") +
                         error.what());
  };
  try {
    counted.read(of_jobs);
    if (hosts != nullptr) counted.read(selection, *hosts);
  } catch (const query::TooMuch &much) {
    return without(much);
  } catch (const store::Error &error) {
    return without(error);
  }
  const size_t told_by_spans = told.regions.size();
  counted.give();
  budget.hold(told.regions.size() - told_by_spans);
}

}  // namespace atalaya::bottleneck
