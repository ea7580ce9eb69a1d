// SPDX-License-Identifier: Apache-2.0
#include "plugins/bottleneck/read_regions.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "plugins/bottleneck/hosts.h"
#include "plugins/query/pieces.h"

namespace atalaya::bottleneck {
namespace {

// When a job ran, from the begin of its first task to the end of the last one.
struct JobTime {
  uint32_t job = kNoJob;  // its place
  int64_t begin_ns = std::numeric_limits<int64_t>::max(), end_ns = 0;
};
using JobTimes = std::vector<JobTime>;

// The nodes of jobs, and when those jobs ran that had tasks there.
class JobHosts {
 public:
  explicit JobHosts(const Told &told) {
    JobTimes jobs(told.jobs.size());
    std::set<std::pair<uint32_t, uint32_t>> places;
    for (const Task &task : told.tasks) {
      JobTime &job = jobs[task.job];
      job.job = task.job;
      job.begin_ns = std::min(job.begin_ns, task.work.start_ns);
      const bool has_end = task.work.duration_ns != kUnknown;
      job.end_ns = std::max(job.end_ns, has_end ? task.work.end_ns() : std::numeric_limits<int64_t>::max());
      if (task.host != 0) places.emplace(task.host, task.job);
    }
    for (const auto &[host, job] : places) times_[told.name(host)].push_back(jobs[job]);
    for (const auto &[host, times] : times_) {
      names_.insert(host);
      const std::string_view label = first_label(host);
      if (label.empty()) continue;
      const auto [known, is_new] = by_label_.emplace(label, &times);
      if (!is_new) known->second = nullptr;
    }
  }
  JobHosts(const JobHosts &) = delete;
  JobHosts &operator=(const JobHosts &) = delete;

  // As the tasks have them.
  const std::set<std::string> &names() const { return names_; }
  // nullptr where no job had tasks, or it is not clear which host this is. That may turn out when all hosts are known, too.
  const JobTimes *times_of(std::string_view host) const {
    if (const auto own = times_.find(host); own != times_.end()) return &own->second;
    const auto same = by_label_.find(first_label(host));
    return same == by_label_.end() ? nullptr : same->second;
  }
  // What says no job, of these hosts and this time, and of hosts with the same first label.
  void select(store::Selection &selection) const {
    JobTime all;
    store::TagFilter hosts{"host", {}};
    for (const auto &[host, times] : times_) {
      for (const JobTime &time : times) {
        all.begin_ns = std::min(all.begin_ns, time.begin_ns);
        all.end_ns = std::max(all.end_ns, time.end_ns);
      }
      hosts.patterns.push_back(query::exactly(host));
    }
    for (const auto &[label, times] : by_label_) {
      if (!names_.contains(std::string(label))) hosts.patterns.push_back(query::exactly(label));
      hosts.patterns.push_back(query::exactly(label) + ".*");
    }
    selection.tags.push_back(std::move(hosts));
    selection.tags.push_back({"job", {"!*"}});
    selection.range = {std::max(all.begin_ns, selection.range.from_ns), std::min(all.end_ns, selection.range.to_ns)};
  }

 private:
  std::map<std::string, JobTimes, std::less<>> times_;
  std::set<std::string> names_;
  std::map<std::string_view, const JobTimes *> by_label_;  // nullptr: several hosts have it
};

// Who probes a program seldom knows which job it works for: regions without a job are those of the jobs whose nodes and time they
// have. There may be thousands a second, so they are added up as they come.
class RegionsWithoutJob {
 public:
  explicit RegionsWithoutJob(const JobHosts &hosts) : hosts_(hosts) {}

  void add(const store::Span &span, query::Budget &budget) {
    if (span.name != "region" || span.duration_ns < 0 || !tag_of(span.tags, "job").empty()) return;
    const std::string_view host = tag_of(span.tags, "host");
    auto found = found_.find(host);
    if (found == found_.end()) found = found_.emplace(host, Found(hosts_.times_of(host))).first;
    found->second.add(span, budget);
  }

  void give(Told &told) {
    std::set<std::string> stored;
    for (const auto &[host, found] : found_) stored.insert(host);
    const SameHosts same(hosts_.names(), stored);
    for (const auto &[host, found] : found_)
      if (const std::string *told_host = same.told_of(host)) found.give(told, told.names.of(*told_host));
    for (std::string &note : same.notes("code regions")) told.notes.push_back(std::move(note));
  }

 private:
  using ByName = std::map<std::string, Region, std::less<>>;

  // What a host told.
  class Found {
   public:
    explicit Found(const JobTimes *times) : times_(times), regions_(times == nullptr ? 0 : times->size()) {}

    // A run belongs to each job in whose time it was.
    void add(const store::Span &span, query::Budget &budget) {
      bool is_inside = false;
      for (size_t i = 0; i < regions_.size(); ++i) {
        const std::optional<Region> run = part_of(span, (*times_)[i]);
        if (!run) continue;
        is_inside = true;
        add(regions_[i], tag_of(span.tags, "name"), *run, budget);
      }
      if (is_inside) ++runs_;
    }

    void give(Told &told, uint32_t host) const {
      told.regions_without_job += runs_;
      for (size_t i = 0; i < regions_.size(); ++i)
        for (const auto &[name, region] : regions_[i]) {
          Region &given = told.regions.emplace_back(region);
          given.job = (*times_)[i].job;
          given.name = told.names.of(name);
          given.host = host;
        }
    }

   private:
    static void add(ByName &regions, std::string_view name, const Region &run, query::Budget &budget) {
      const auto known = regions.find(name);
      if (known != regions.end()) return add_to(known->second, run);
      budget.hold(1);
      regions.emplace(name, run);
    }
    static void add_to(Region &all, const Region &run) {
      all.runs += run.runs;
      all.seconds += run.seconds;
      all.bytes += run.bytes;
      all.has_bytes = all.has_bytes || run.has_bytes;
    }

    const JobTimes *times_;
    std::vector<ByName> regions_;  // beside the times
    size_t runs_ = 0;
  };

  // What of a run lies in the time, if anything does. How many of its bytes do is not known.
  static std::optional<Region> part_of(const store::Span &span, const JobTime &time) {
    int64_t end = 0;
    if (__builtin_add_overflow(span.start_ns, span.duration_ns, &end)) return std::nullopt;  // of foreign numbers
    if (span.start_ns >= time.end_ns || end <= time.begin_ns) return std::nullopt;
    const int64_t inside_ns = std::min(end, time.end_ns) - std::max(span.start_ns, time.begin_ns);
    if (inside_ns == span.duration_ns) return run_of(span);
    return Region{.seconds = static_cast<double>(inside_ns) / 1e9};
  }

  const JobHosts &hosts_;
  std::map<std::string, Found, std::less<>> found_;  // by host, as the store has it
};

}  // namespace

void add_regions(Told &told, const std::vector<store::TagFilter> &tags, const store::Range &range, store::Store &store,
                 query::Budget &budget) {
  const JobHosts hosts(told);
  if (hosts.names().empty()) return;
  store::Selection selection{{"region"}, tags, range};
  hosts.select(selection);
  RegionsWithoutJob regions(hosts);
  // All else can do without them.
  query::Budget part = budget.half();
  try {
    store.spans(selection, [&](const store::Span &span) {
      part.work(1);
      regions.add(span, part);
    });
  } catch (const query::TooMuch &) {
    told.notes.emplace_back(
        "code regions that say no job are left out: to read those of the job's nodes and time costs more than half of what is "
        "allowed; allow more with --max-points and --timeout");
    return;
  }
  const size_t with_job = told.regions.size();
  regions.give(told);
  budget.hold(told.regions.size() - with_job);
}

}  // namespace atalaya::bottleneck
