// SPDX-License-Identifier: Apache-2.0
#include "plugins/bottleneck/read.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/util/suggest.h"
#include "core/util/text.h"
#include "plugins/bottleneck/hosts.h"
#include "plugins/query/pieces.h"

namespace atalaya::bottleneck {
namespace {

std::string job_of(const store::Tags &tags) {
  return std::string(tag_of(tags, "job"));
}

// What began before the time and has no end. Some of it never gets one: when a master dies its tasks stay open for ever, and so it
// would be in all later times. Where its job is known to have ended before, it is left out.
class EarlierOpen {
 public:
  explicit EarlierOpen(const query::Range &range) : begin_ns_(range.from_ns) {}

  bool keeps(const store::Span &span) {
    const std::string_view job = tag_of(span.tags, "job");
    if (job.empty()) return false;
    if (span.duration_ns >= 0 || span.start_ns > begin_ns_) {
      if (last_active_ == nullptr || *last_active_ != job) last_active_ = &*active_.emplace(job).first;
      return false;
    }
    Kept kept{span.start_ns, span.entity, span.tags, std::string(span.name), {}, {}};
    for (const store::Field &field : span.fields) {
      kept.names.emplace_back(field.name);
      kept.fields.push_back(field);
    }
    kept_[std::string(job)].push_back(std::move(kept));
    return true;
  }

  void settle(Collector &collector, store::Store &store) {
    if (kept_.empty()) return;
    store::TagFilter jobs{"job", {}};
    for (const auto &[job, kept] : kept_) jobs.patterns.push_back(query::exactly(job));
    std::set<std::string> over;
    store.spans({{"job"}, {jobs}, {}}, [&](const store::Span &span) {
      if (span.name == "job" && span.duration_ns >= 0 && span.start_ns + span.duration_ns <= begin_ns_)
        over.insert(job_of(span.tags));
    });
    for (auto &[job, kept] : kept_) {
      if (over.contains(job)) continue;
      if (!active_.contains(job)) idle_.push_back(job);
      for (Kept &one : kept) one.give(collector);
    }
  }
  // Jobs of which nothing else is known in the time.
  const std::vector<std::string> &idle() const { return idle_; }

 private:
  struct Kept {
    int64_t start_ns, entity;
    store::Tags tags;
    std::string name;
    std::vector<std::string> names;
    std::vector<store::Field> fields;

    void give(Collector &collector) {
      for (size_t i = 0; i < fields.size(); ++i) fields[i].name = names[i];
      collector.add({start_ns, kUnknown, entity, tags, name, fields});
    }
  };

  const int64_t begin_ns_;
  std::set<std::string> active_;
  const std::string *last_active_ = nullptr;  // most spans are of the same job as the one before
  std::map<std::string, std::vector<Kept>> kept_;
  std::vector<std::string> idle_;
};

// Whether any span is of this job, at any time: the first one will do.
bool is_stored(const std::string &id, store::Store &store) {
  struct Found {};
  try {
    store.spans({{"job", "task", "phase", "region"}, {{"job", {query::exactly(id)}}}, {}},
                [](const store::Span &) { throw Found(); });
  } catch (const Found &) {
    return true;
  }
  return false;
}

void check_known(const std::vector<std::string> &ids, const Told &told, store::Store &store) {
  std::set<std::string> found;
  for (const Job &job : told.jobs) found.insert(told.name(job.id));
  for (const std::string &id : ids) {
    if (found.contains(id)) continue;
    if (is_stored(id, store))
      throw query::Wrong("job " + core::in_quotes(id) + " is in the store " + store.name() +
                         ", but not in this time or not with these tags; leave out --from, --to or --tag");
    throw query::Wrong("job " + core::in_quotes(id) + " is not in the store " + store.name() +
                       core::did_you_mean(id, store.tag_values("job")) + "; --job all takes all of a time");
  }
}

// Of time, in order, one behind the other.
struct Stretch {
  int64_t begin_ns = std::numeric_limits<int64_t>::max(), end_ns = 0;
};
using Stretches = std::vector<Stretch>;

void join(Stretches &stretches) {
  std::sort(stretches.begin(), stretches.end(), [](const Stretch &a, const Stretch &b) { return a.begin_ns < b.begin_ns; });
  size_t kept = 0;
  for (const Stretch &next : stretches) {
    if (kept == 0 || next.begin_ns > stretches[kept - 1].end_ns)
      stretches[kept++] = next;
    else
      stretches[kept - 1].end_ns = std::max(stretches[kept - 1].end_ns, next.end_ns);
  }
  stretches.resize(kept);
}

// By host: the time of the jobs that had tasks there.
using JobTimes = std::map<std::string, Stretches, std::less<>>;

JobTimes job_times_of(const Told &told) {
  std::vector<Stretch> jobs(told.jobs.size());
  std::set<std::pair<uint32_t, uint32_t>> places;
  for (const Task &task : told.tasks) {
    Stretch &job = jobs[task.job];
    job.begin_ns = std::min(job.begin_ns, task.work.start_ns);
    const bool has_end = task.work.duration_ns != kUnknown;
    job.end_ns = std::max(job.end_ns, has_end ? task.work.end_ns() : std::numeric_limits<int64_t>::max());
    if (task.host != 0) places.emplace(task.host, task.job);
  }
  JobTimes times;
  for (const auto &[host, job] : places) times[told.name(host)].push_back(jobs[job]);
  for (auto &[host, stretches] : times) join(stretches);
  return times;
}

// Who probes a program seldom knows which job it works for: regions without a job are those of the jobs whose nodes and time they
// have. There may be thousands a second, so they are added up as they come.
class RegionsWithoutJob {
 public:
  explicit RegionsWithoutJob(const Told &told) : times_(job_times_of(told)) {
    for (const auto &[host, times] : times_) {
      hosts_.insert(host);
      const std::string_view label = first_label(host);
      if (label.empty()) continue;
      const auto [known, is_new] = by_label_.emplace(label, &times);
      if (!is_new) known->second = nullptr;
    }
  }

  bool has_hosts() const { return !times_.empty(); }
  // Those of these hosts and this time, and of hosts with the same first label.
  void select(store::Selection &selection) const {
    Stretch all;
    store::TagFilter hosts{"host", {}};
    for (const auto &[host, times] : times_) {
      all = {std::min(all.begin_ns, times.front().begin_ns), std::max(all.end_ns, times.back().end_ns)};
      hosts.patterns.push_back(query::exactly(host));
    }
    for (const auto &[label, times] : by_label_) {
      if (!hosts_.contains(std::string(label))) hosts.patterns.push_back(query::exactly(label));
      hosts.patterns.push_back(query::exactly(label) + ".*");
    }
    selection.tags.push_back(std::move(hosts));
    selection.tags.push_back({"job", {"!*"}});
    selection.range = {std::max(all.begin_ns, selection.range.from_ns), std::min(all.end_ns, selection.range.to_ns)};
  }

  void add(const store::Span &span, query::Budget &budget) {
    if (span.name != "region" || span.duration_ns < 0 || !tag_of(span.tags, "job").empty()) return;
    const std::string_view host = tag_of(span.tags, "host");
    auto found = found_.find(host);
    if (found == found_.end()) found = found_.emplace(host, Found{times_of(host), {}}).first;
    if (found->second.times == nullptr) return;
    const std::optional<Region> run = part_of(span, *found->second.times);
    if (!run) return;
    std::map<std::string, Region, std::less<>> &regions = found->second.regions;
    const std::string_view name = tag_of(span.tags, "name");
    const auto known = regions.find(name);
    if (known != regions.end()) return add_to(known->second, *run);
    budget.hold(1);
    regions.emplace(name, *run);
  }

  void give(Told &told) {
    std::set<std::string> stored;
    for (const auto &[host, found] : found_) stored.insert(host);
    const SameHosts same(hosts_, stored);
    for (auto &[host, found] : found_) {
      const std::string *told_host = same.told_of(host);
      if (told_host == nullptr) continue;
      for (auto &[name, region] : found.regions) {
        region.name = told.names.of(name);
        region.host = told.names.of(*told_host);
        told.regions.push_back(region);
        told.regions_without_job += region.runs;
      }
    }
    for (std::string &note : same.notes("code regions")) told.notes.push_back(std::move(note));
  }

 private:
  struct Found {
    const Stretches *times = nullptr;
    std::map<std::string, Region, std::less<>> regions;  // by name
  };

  // nullptr where no job had tasks, or it is not clear which host this is. That may turn out when all hosts are known, too.
  const Stretches *times_of(std::string_view host) const {
    if (const auto own = times_.find(host); own != times_.end()) return &own->second;
    const auto same = by_label_.find(first_label(host));
    return same == by_label_.end() ? nullptr : same->second;
  }
  // What of a run lies in the time, if anything does. How many of its bytes do is not known.
  static std::optional<Region> part_of(const store::Span &span, const Stretches &times) {
    int64_t end = 0, inside_ns = 0;
    bool is_inside = false;
    if (__builtin_add_overflow(span.start_ns, span.duration_ns, &end)) return std::nullopt;  // of foreign numbers
    for (const Stretch &time : times) {
      if (span.start_ns >= time.end_ns || end <= time.begin_ns) continue;
      is_inside = true;
      inside_ns += std::min(end, time.end_ns) - std::max(span.start_ns, time.begin_ns);
    }
    if (!is_inside) return std::nullopt;
    if (inside_ns == span.duration_ns) return run_of(span);
    return Region{.seconds = static_cast<double>(inside_ns) / 1e9};
  }
  static void add_to(Region &all, const Region &run) {
    all.runs += run.runs;
    all.seconds += run.seconds;
    all.bytes += run.bytes;
    all.has_bytes = all.has_bytes || run.has_bytes;
  }

  const JobTimes times_;
  std::set<std::string> hosts_;
  std::map<std::string_view, const Stretches *> by_label_;  // nullptr: several hosts have it
  std::map<std::string, Found, std::less<>> found_;         // by host, as the store has it
};

void add_regions(Told &told, const std::vector<store::TagFilter> &tags, const store::Range &range, store::Store &store,
                 query::Budget &budget) {
  RegionsWithoutJob regions(told);
  if (!regions.has_hosts()) return;
  store::Selection selection{{"region"}, tags, range};
  regions.select(selection);
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
        "allowed; "
        "allow more with --max-points and --timeout");
    return;
  }
  const size_t with_job = told.regions.size();
  regions.give(told);
  budget.hold(told.regions.size() - with_job);
}

}  // namespace

Told read_jobs(const std::vector<std::string> &ids, const std::vector<store::TagFilter> &tags, const query::Range &range,
               store::Store &store, query::Budget &budget) {
  store::Selection selection{
      {}, tags, range};  // all names: to look for four of them in millions takes longer than to read the rest
  if (!ids.empty()) {
    store::TagFilter jobs{"job", {}};
    for (const std::string &id : ids) jobs.patterns.push_back(query::exactly(id));
    selection.tags.push_back(std::move(jobs));
  }
  Collector collector;
  EarlierOpen open(range);
  store.spans(selection, [&](const store::Span &span) {
    budget.hold(1);
    budget.work(1);
    if (!open.keeps(span)) collector.add(span);
  });
  open.settle(collector, store);
  Told told = collector.take();
  told.idle = open.idle();
  check_known(ids, told, store);
  if (!ids.empty()) add_regions(told, tags, range, store, budget);
  return told;
}

Counters read_counters(const Told &told, const std::vector<uint32_t> &tasks, store::Store &store, query::Budget &budget) {
  Counters counters;
  store::Selection selection;
  store::TagFilter jobs{"job", {}};
  std::set<uint32_t> names;
  int64_t first_ns = std::numeric_limits<int64_t>::max(), last_ns = 0;
  for (const uint32_t number : tasks) {
    const Task &task = told.tasks[number];
    counters[number];
    if (names.insert(told.jobs[task.job].id).second) jobs.patterns.push_back(query::exactly(told.name(told.jobs[task.job].id)));
    first_ns = std::min(first_ns, task.work.start_ns);
    last_ns = std::max(last_ns, task.work.end_ns());
  }
  if (tasks.empty()) return counters;
  selection.range = {first_ns - 1, last_ns};
  selection.tags = {jobs};
  std::string key;
  store.spans(selection, [&](const store::Span &span) {
    budget.work(1);
    key.clear();
    if (span.name != "task" || !append_key(key, span.tags)) return;
    const auto task = told.keys.find(key);
    const auto wanted = task == told.keys.end() ? counters.end() : counters.find(task->second);
    if (wanted == counters.end()) return;
    const Task &one = told.tasks[wanted->first];
    if (one.has_span && one.work.start_ns != span.start_ns) return;  // of an earlier run
    for (const store::Field &field : span.fields)
      if (field.name.starts_with("counter.") && wanted->second.emplace(field.name, field.value).second) budget.hold(1);
  });
  return counters;
}

}  // namespace atalaya::bottleneck
