// SPDX-License-Identifier: Apache-2.0
#include "plugins/bottleneck/read.h"

#include <algorithm>
#include <limits>
#include <set>

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

void check_known(const std::vector<std::string> &ids, const Told &told, store::Store &store) {
  std::set<std::string> found;
  for (const Job &job : told.jobs) found.insert(told.name(job.id));
  for (const std::string &id : ids) {
    if (found.contains(id)) continue;
    std::set<std::string> known;
    store.spans({{"job"}, {}, {}}, [&](const store::Span &span) { known.insert(job_of(span.tags)); });
    if (known.contains(id))
      throw query::Wrong("job " + core::in_quotes(id) + " is in the store " + store.name() +
                         ", but not in this time or not with these tags; leave out --from, --to or --tag");
    throw query::Wrong("job " + core::in_quotes(id) + " is not in the store " + store.name() +
                       core::did_you_mean(id, {known.begin(), known.end()}) + "; --job all takes all of a time");
  }
}

// When and where a job ran.
struct Place {
  int64_t begin_ns = std::numeric_limits<int64_t>::max(), end_ns = 0;
  std::set<std::string> hosts;
};

std::vector<Place> places_of(const Told &told) {
  std::vector<Place> places(told.jobs.size());
  for (const Task &task : told.tasks) {
    Place &place = places[task.job];
    place.begin_ns = std::min(place.begin_ns, task.work.start_ns);
    const bool has_end = task.work.duration_ns != kUnknown;
    place.end_ns = std::max(place.end_ns, has_end ? task.work.end_ns() : std::numeric_limits<int64_t>::max());
    if (task.host != 0) place.hosts.insert(told.name(task.host));
  }
  return places;
}

// Who probes a program seldom knows which job it works for: regions without a job are those of the jobs whose nodes and time they
// have.
void add_regions(Told &told, const std::vector<store::TagFilter> &tags, const store::Range &range, store::Store &store,
                 query::Budget &budget) {
  const std::vector<Place> places = places_of(told);
  store::Range time{std::numeric_limits<int64_t>::max(), 0};
  std::set<std::string> hosts, region_hosts;
  for (const Place &place : places) {
    time = {std::min(time.from_ns, place.begin_ns), std::max(time.to_ns, place.end_ns)};
    hosts.insert(place.hosts.begin(), place.hosts.end());
  }
  if (hosts.empty()) return;
  store::Selection selection{{"region"}, tags, {std::max(time.from_ns, range.from_ns), std::min(time.to_ns, range.to_ns)}};
  selection.tags.push_back({"job", {"!*"}});
  struct Found {
    std::string host;
    int64_t begin_ns = 0;
    Region region;
  };
  std::vector<Found> found;
  store.spans(selection, [&](const store::Span &span) {
    budget.work(1);
    const auto host = span.tags.find("host");
    if (span.name != "region" || span.duration_ns < 0 || host == span.tags.end() || !job_of(span.tags).empty()) return;
    budget.hold(1);
    region_hosts.insert(host->second);
    found.push_back({host->second, span.start_ns, region_of(span, told.names)});
  });
  const SameHosts same(hosts, region_hosts);
  for (Found &one : found) {
    const std::string *host = same.told_of(one.host);
    const auto has = [&](const Place &place) {
      return place.hosts.contains(*host) && one.begin_ns < place.end_ns && one.begin_ns + one.region.duration_ns > place.begin_ns;
    };
    if (host == nullptr || std::none_of(places.begin(), places.end(), has)) continue;
    one.region.host = told.names.of(*host);
    told.regions.push_back(one.region);
    ++told.regions_without_job;
  }
  told.notes = same.notes("code regions");
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
      if (field.name.starts_with("counter.")) wanted->second.emplace(field.name, field.value);
  });
  return counters;
}

}  // namespace atalaya::bottleneck
